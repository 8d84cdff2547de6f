"""The tools' answers: the JSON API's numbers, the envelope, what is said of gaps and age, and errors that teach."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import duckdb
import numpy as np
import orjson
import pytest

from serve.contract.serialize import significant
from serve.http.keys import create_key
from tests.support.replica.replica import AS_OF_MS, CATALOG, DAY, GAPS, LAST, MINUTE, publish
from tests.support.servers.api_server import free_port, running, until
from tests.support.servers.mcp_calls import ARGUMENTS, TOOLS, Mcp, warned

FIRST = 9007199254700000  # the newest spike's id; the others count up
# The greatest share of digits in a text that a tokenizer of today was seen to need: 2.1 characters a token.
CHARS_A_TOKEN = 2.0
HISTORIES = {"funding_history": "funding", "oi_history": "oi", "liquidations_history": "liquidations"}


@pytest.fixture(scope="module")
def mcp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mcp]:
    serving = tmp_path_factory.mktemp("tools") / "serving"
    publish(serving, 1842)
    with running(serving, free_port()) as api:
        yield Mcp(api)


@pytest.fixture(scope="module")
def today(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mcp]:
    """A server whose newest data is of now."""
    serving = tmp_path_factory.mktemp("today") / "serving"
    publish(serving, 7, AS_OF_MS + DAY, max_days=3)
    with running(serving, free_port(), now_ms=AS_OF_MS + DAY) as api:
        yield Mcp(api)


def iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def near(value: Any, exact: Any, digits: int = 6) -> bool:
    """Whether a number is another one with so many significant digits; null is null."""
    if exact is None or value is None:
        return value is exact
    return bool(value == float(f"{exact:.{digits}g}"))


@pytest.mark.requirement("mcp:history", "mcp:digits", "mcp:summary")
@pytest.mark.parametrize("tool", HISTORIES)
@pytest.mark.parametrize(
    "arguments",
    [
        {"base": "BTC"},
        {"base": "eth", "range": "6h", "step": "5m"},
        {"base": "BTC", "venue": "bybit", "range": "30d"},
        {"base": "BTC", "type": "all", "range": "2d", "step": "1h"},
        {"market": "binance:perp:1000PEPEUSDT", "range": "90d"},
        {"base": "BTC", "start": iso(AS_OF_MS - 3 * DAY), "end": iso(AS_OF_MS - 2 * DAY), "step": "15m"},
        {"base": "BTC", "start": iso(AS_OF_MS - 3 * DAY), "range": "1d", "step": "1d"},
        {"base": "BTC", "range": "2y", "step": "1d"},
    ],
)
def test_a_history_is_the_series_of_the_json_api(mcp: Mcp, tool: str, arguments: dict[str, str]) -> None:
    got = mcp.call(tool, arguments)
    data, asked = got["data"], got["coverage"]["requested"]
    rest = {**arguments, "step": data["step"]}
    rest |= {name: str(ms(rest[name])) for name in ("start", "end") if name in rest}
    series = mcp.api.series(HISTORIES[tool], **rest)
    fields = series["fields"]
    assert (data["metric"], data["series"]["t"], asked) == (
        series["metric"], series["t"], {"start": series["start"], "end": series["end"]},
    )  # fmt: skip
    assert set(data["series"]) == set(data["summary"]) | {"t"} == {*fields, "t"}
    assert got["provenance"]["source"] == series["source"]
    assert got["provenance"]["method"] == " ".join(CATALOG[series["metric"]]["formula"].split())
    width = series["step"]
    end = min(series["t"][-1] + width, series["end"])
    assert got["coverage"]["available"] == {"start": series["t"][0], "end": end}
    for field in fields:
        assert got["units"][field] == CATALOG[series["metric"]]["unit"]
        assert all(map(near, data["series"][field], series[field]))
        known = [value for value in series[field] if value is not None]
        summary = data["summary"][field]
        figures = {
            "first": known[0], "last": known[-1], "min": min(known), "max": max(known),
            "mean": sum(known) / len(known), "change": known[-1] - known[0],
        }  # fmt: skip
        if series["metric"] == "oi":
            figures["change_fraction"] = known[-1] / known[0] - 1
        if series["metric"] == "liquidations":
            figures["total"] = sum(known)
        assert set(summary) == {"known", *figures}
        assert summary["known"] == len(known)
        for name, exact in figures.items():
            assert summary[name] == pytest.approx(exact, rel=1e-5, abs=1e-15), name
    gaps = [gap for gap in series["gaps"] if gap in got["coverage"]["gaps"]]
    assert len(gaps) == len(got["coverage"]["gaps"]) == len(series["gaps"]) - got["coverage"]["gaps_omitted"]


@pytest.mark.requirement("mcp:points")
@pytest.mark.parametrize(
    ("length", "step"), [("1d", "5m"), ("7d", "1h"), ("30d", "4h"), ("90d", "1d"), ("2y", "3d"), ("3h", "1m")]
)
def test_without_a_step_there_are_about_200_points(mcp: Mcp, length: str, step: str) -> None:
    data = mcp.call("oi_history", {"base": "BTC", "range": length})["data"]
    assert data["step"] == step
    assert 80 <= len(data["series"]["t"]) <= 300


@pytest.mark.requirement("mcp:coarsened")
def test_a_step_that_is_too_fine_is_raised_and_reported(mcp: Mcp) -> None:
    got = mcp.call("oi_history", {"base": "BTC", "range": "30d", "step": "1m"})
    assert (got["data"]["step"], "coarsened" in warned(got)) == ("1h", True)
    assert len(got["data"]["series"]["t"]) < 1500
    assert "coarsened" not in warned(mcp.call("oi_history", {"base": "BTC", "range": "30d", "step": "1h"}))
    _, key = create_key(mcp.api.keys, "points")
    until(lambda: mcp.ask("ping", X_API_Key=key).status, lambda status: status == 200)
    keyed = mcp.call("oi_history", {"base": "BTC", "range": "3d", "step": "1m"}, X_API_Key=key)
    assert (keyed["data"]["step"], 4000 < len(keyed["data"]["series"]["t"]) < 6000) == ("1m", True)


@pytest.mark.requirement("mcp:tokens")
def test_results_of_default_calls_fit_a_context_window(mcp: Mcp) -> None:
    assert list(ARGUMENTS) == TOOLS
    for name, arguments in {**ARGUMENTS, "spike_outcomes": {"ids": [FIRST + n for n in range(20)]}}.items():
        answer = mcp.ask("tools/call", {"name": name, "arguments": arguments})
        text = answer.json["result"]["content"][0]["text"]
        assert len(text) / CHARS_A_TOKEN < 10_000, name
        assert "large_answer" not in text


@pytest.mark.requirement("mcp:large")
def test_a_large_result_links_to_the_json_api(mcp: Mcp) -> None:
    _, key = create_key(mcp.api.keys, "large")
    until(lambda: mcp.ask("ping", X_API_Key=key).status, lambda status: status == 200)
    arguments = {"base": "BTC", "range": "3d", "step": "1m", "venue": "bybit"}
    got = mcp.call("liquidations_history", arguments, X_API_Key=key)
    [url] = [warning["url"] for warning in got["warnings"] if warning["code"] == "large_answer"]
    assert url.startswith(f"http://127.0.0.1:{mcp.api.port}/api/series/liquidations?")
    lines = mcp.api.get(f"{urlsplit(url).path}?{urlsplit(url).query}", X_API_Key=key).body.decode().splitlines()
    assert [int(line.split(",")[1]) for line in lines[2:]] == got["data"]["series"]["t"]
    result = mcp.ask("tools/call", {"name": "liquidations_history", "arguments": arguments}, X_API_Key=key)
    assert 200_000 < len(result.body) < 1024 * 1024


@pytest.mark.requirement("mcp:large")
async def test_no_result_is_larger_than_1_mib() -> None:
    from serve.contract.errors import ApiError
    from serve.mcp.server import MAX_RESULT, _tool_result

    assert len(_tool_result(b'"' + b"x" * 500_000 + b'"', False, "2025-11-25")) < MAX_RESULT == 1024 * 1024
    with pytest.raises(ApiError, match="shorter range or a coarser step"):
        _tool_result(b'"' + b"x" * 525_000 + b'"', False, "2025-11-25")


@pytest.mark.requirement("mcp:digits")
def test_rounding_to_significant_digits() -> None:
    values = np.array([0.0, 1.0, -1234567.89, 1.23456789e-5, 9.999999e9, np.nan, 60123.45678, -5e-324, 1.7e308])
    got = significant(values, 6)
    assert orjson.loads(orjson.dumps(got, option=orjson.OPT_SERIALIZE_NUMPY))[:5] == [
        0.0, 1.0, -1234570.0, 1.23457e-05, 1e10,
    ]  # fmt: skip
    assert np.isnan(got[5])
    assert got[6] == 60123.5
    assert np.isfinite(got[[7, 8]]).all()
    random = np.random.default_rng(1)
    many = random.normal(size=2000) * 10 ** random.uniform(-15, 15, 2000)
    assert [float(f"{value:.6g}") for value in many] == significant(many, 6).tolist()


@pytest.mark.requirement("mcp:partial")
def test_an_outage_of_the_recorder_makes_a_result_partial(mcp: Mcp) -> None:
    down = GAPS[-2]
    around = {"start": iso(down[0] - 30 * MINUTE), "end": iso(down[1] + 30 * MINUTE)}
    got = mcp.call("oi_history", {"base": "BTC", **around})
    assert (got["status"], "recording_gap" in warned(got)) == ("partial", True)
    assert {"start": down[0], "end": down[0] + 11 * MINUTE, "venue": None, "reason": "recorder_down"} in (
        got["coverage"]["gaps"]
    )
    before = {"start": iso(down[0] - 90 * MINUTE), "end": iso(down[0] - 30 * MINUTE)}
    assert mcp.call("oi_history", {"base": "BTC", **before})["status"] == "ok"
    for tool, arguments in (("spike_feed", around), ("liquidations_history", {"base": "BTC", **around})):
        assert mcp.call(tool, arguments)["status"] == "partial"
    assert mcp.call("spike_feed", before)["status"] == "ok"


@pytest.mark.requirement("mcp:partial")
def test_an_outage_of_a_venue_is_reported_and_makes_its_responses_partial(mcp: Mcp) -> None:
    away = GAPS[0]
    around = {"start": iso(away[0] - 10 * MINUTE), "end": iso(away[1] + 4 * MINUTE)}
    got = mcp.call("oi_history", {"base": "BTC", **around})
    assert (got["status"], warned(got)) == ("ok", ["venue_gap"])
    assert "binance 10 min" in got["warnings"][0]["message"]
    own = mcp.call("oi_history", {"market": "binance:perp:BTCUSDT", **around})
    assert (own["status"], warned(own)) == ("partial", ["recording_gap"])
    other = mcp.call("oi_history", {"base": "BTC", "venue": "bybit", **around})
    assert (other["status"], warned(other)) == ("ok", [])


@pytest.mark.requirement("mcp:partial")
def test_values_from_before_the_recording_are_of_unknown_coverage(mcp: Mcp) -> None:
    old = mcp.call("funding_history", {"base": "BTC", "range": "30d"})
    assert "coverage_unknown" in warned(old)
    assert "coverage_unknown" not in warned(mcp.call("funding_history", {"base": "BTC", "range": "2d"}))


@pytest.mark.requirement("mcp:freshness")
def test_freshness(mcp: Mcp, today: Mcp) -> None:
    now = today.call("oi_history", {"base": "BTC"})
    assert (now["freshness"], now["as_of"] > AS_OF_MS) == ("fresh", True)
    for name, arguments in (("market_snapshot", {"base": "BTC"}), ("spike_feed", {})):
        assert today.call(name, arguments)["freshness"] == "fresh"
    past = {"start": iso(now["as_of"] - DAY), "end": iso(now["as_of"] - DAY // 2)}
    assert today.call("oi_history", {"base": "BTC", **past})["freshness"] == "historical"
    assert today.call("spike_feed", past)["freshness"] == "historical"
    # The same questions to an edition of long ago: nothing of it is of now.
    for name, arguments in (("market_snapshot", {"base": "BTC"}), ("spike_feed", {}), ("oi_history", {"base": "BTC"})):
        for _ in range(2):
            got = mcp.call(name, arguments)
            assert (got["freshness"], "stale" in warned(got), got["as_of"]) == ("stale", True, AS_OF_MS)
    past = {"start": iso(AS_OF_MS - DAY), "end": iso(AS_OF_MS - DAY // 2)}
    assert mcp.call("oi_history", {"base": "BTC", **past})["freshness"] == "historical"


@pytest.mark.requirement("mcp:freshness")
async def test_a_result_is_fresh_until_a_step_and_15_minutes_after_its_newest_bucket(mcp: Mcp) -> None:
    from serve.mcp.tool import fresh_until
    from serve.replica.edition import open_edition
    from serve.replica.units import Span

    edition = open_edition(mcp.api.serving / "replica_a.duckdb")
    hour, slack, now = 60 * MINUTE, 15 * MINUTE, edition.as_of_ms
    assert fresh_until(now - hour, hour, Span(now - DAY, now), edition) == now + slack
    assert fresh_until(None, hour, Span(now - DAY, now), edition) == hour + slack
    assert fresh_until(now - DAY, hour, Span(now - 2 * DAY, now - hour - slack), edition) is None
    assert fresh_until(now - DAY, hour, Span(now - 2 * DAY, now - hour - slack + 1), edition) is not None
    edition.connection.close()


@pytest.mark.requirement("mcp:snapshot")
@pytest.mark.parametrize("kind", ["perp", "spot", "all"])
def test_a_snapshot_is_the_coins_row_of_the_json_api(mcp: Mcp, kind: str) -> None:
    [coin] = [coin for coin in mcp.api.get("/api/markets").json["coins"] if coin["base"] == "BTC"]
    got = mcp.call("market_snapshot", {"base": "btc", "type": kind})
    entries = [(one, entry) for one in ("perp", "spot") if kind in (one, "all") for entry in coin[f"{one}s"]]
    data = got["data"]
    assert (data["base"], [market["market"] for market in data["markets"]]) == (
        "BTC",
        [f"{entry['venue']}:{one}:{entry['symbol']}" for one, entry in entries],
    )
    for market, (_, entry) in zip(data["markets"], entries, strict=True):
        assert near(market["price"], entry["price"], 8)
        for name in ("oi_usd", "vol24h", "funding", "px_24h", "oi_24h"):
            assert near(market[name], entry[name]), name
    oi = [market["oi_usd"] or 0 for market in data["markets"]]
    assert oi == sorted(oi, reverse=True)
    for name in ("perp_vol24h", "spot_vol24h", "oi_usd", "funding_avg"):
        assert near(data["summary"][name], coin[name])
    assert (data["summary"]["perps"], data["summary"]["spots"]) == (len(coin["perps"]), len(coin["spots"]))
    limited = mcp.call("market_snapshot", {"base": "BTC", "type": kind, "limit": 1})["data"]
    assert (limited["markets"], limited["summary"]) == (data["markets"][:1], data["summary"])


@pytest.mark.requirement("mcp:feed")
def test_the_feed_pages_through_its_window_newest_first(mcp: Mcp) -> None:
    with duckdb.connect(str(mcp.api.serving / "replica_a.duckdb"), read_only=True) as con:
        every = con.execute(
            "select id, ts, market_id, base, dir, sig from spikes where ts >= ? and ts < ? order by ts desc, id desc",
            [AS_OF_MS - 12 * 3_600_000, AS_OF_MS],
        ).fetchall()

    def pages(**filters: Any) -> list[Any]:
        found: list[Any] = []
        more: dict[str, Any] = {"range": "12h", **filters}
        while True:
            data = mcp.call("spike_feed", {**more, "limit": 37})["data"]
            assert data["summary"]["spikes"] == len(data["spikes"]) <= 37
            found += data["spikes"]
            if data["next_cursor"] is None:
                return found
            assert len(data["spikes"]) == 37
            # A cursor alone knows its window and filters; the filters may be repeated.
            more = {"cursor": data["next_cursor"], **(filters if len(found) % 2 else {})}

    assert [(one["id"], one["ts"], one["market"], one["base"], one["dir"]) for one in pages()] == [
        row[:5] for row in every
    ]
    kept: tuple[tuple[dict[str, Any], Callable[[Any], bool]], ...] = (
        ({"base": "btc"}, lambda row: row[3] == "BTC"),
        ({"venue": "bybit"}, lambda row: row[2].startswith("bybit:")),
        ({"side": "sell"}, lambda row: row[4] == "sell"),
        ({"min_sig": 8}, lambda row: row[5] >= 8),
        ({"base": "ETH", "side": "buy", "min_sig": 7.5}, lambda row: row[3:5] == ("ETH", "buy") and row[5] >= 7.5),
    )
    for filters, keep in kept:
        assert [one["id"] for one in pages(**filters)] == [row[0] for row in every if keep(row)], filters
    hour = mcp.call("spike_feed", {"limit": 200})
    assert hour["coverage"]["requested"] == {"start": AS_OF_MS - 3_600_000, "end": AS_OF_MS}
    assert [one["id"] for one in hour["data"]["spikes"]] == [row[0] for row in every if row[1] >= AS_OF_MS - 3_600_000]


@pytest.mark.requirement("mcp:feed")
def test_the_feeds_window_and_cursor_are_checked(mcp: Mcp) -> None:
    assert "at most 24h" in mcp.wrong("spike_feed", {"range": "25h"})["message"]
    assert "at most 24h" in mcp.wrong("spike_feed", {"start": iso(AS_OF_MS - 3 * DAY), "end": iso(AS_OF_MS)})["message"]
    assert mcp.wrong("spike_feed", {"limit": 201})["data"]["nearest"] == 200
    cursor = mcp.call("spike_feed", {"limit": 1, "side": "sell"})["data"]["next_cursor"]
    assert mcp.wrong("spike_feed", {"cursor": cursor, "side": "buy"})["data"]["argument"] == "side"
    assert mcp.wrong("spike_feed", {"cursor": cursor, "range": "2h"})["data"]["argument"] == "range"
    for broken in (cursor[:-3], cursor[3:], "x", "AAAA", "%%%", "W10", "e30", "é"):
        assert mcp.wrong("spike_feed", {"cursor": broken})["data"]["argument"] == "cursor"


@pytest.mark.requirement("mcp:outcomes")
def test_outcomes_are_pending_observed_or_unavailable(mcp: Mcp) -> None:
    asked = [FIRST + 200, FIRST, FIRST + 40, FIRST + 104, FIRST + 200, 77]
    got = mcp.call("spike_outcomes", {"ids": asked})
    found = {one["id"]: one for one in got["data"]["outcomes"]}
    assert list(found) == [FIRST + 200, FIRST, FIRST + 40, FIRST + 104]
    assert (got["data"]["unknown_ids"], "unknown_id" in warned(got)) == ([77], True)

    def states(number: int) -> list[tuple[str, Any, Any, Any]]:
        spike = found[FIRST + number]
        assert [one["due_ms"] - spike["ts"] for one in spike["returns"]] == [6 * MINUTE, 16 * MINUTE, 61 * MINUTE]
        return [(one["state"], one["reason"], one["return"], one["directional_return"]) for one in spike["returns"]]

    # Of spike n: n % 3 says the direction (buy, sell, unknown), n % 5 == 4 that the deciding bars never came.
    assert states(200) == [("observed", None, value, None) for value in (0.005, 0.015, 0.06)]
    assert states(0) == [("pending", None, None, None)] * 3
    assert states(40) == [
        ("observed", None, 0.005, -0.005), ("observed", None, 0.015, -0.015), ("pending", None, None, None),
    ]  # fmt: skip
    assert states(104) == [("unavailable", "missing_outcome", None, None)] * 2 + [("pending", None, None, None)]
    assert got["data"]["summary"] == {"observed": 5, "pending": 5, "unavailable": 2}
    feed = mcp.call("spike_feed", {"range": "4h", "limit": 200})["data"]["spikes"]
    mine = {name: value for name, value in found[FIRST + 40].items() if name != "returns"}
    assert mine in feed
    empty = mcp.call("spike_outcomes", {"ids": [77]})
    assert (empty["status"], empty["data"]["outcomes"]) == ("ok", [])
    final = mcp.call("spike_outcomes", {"ids": [FIRST + 1000]})
    assert (final["freshness"], final["data"]["summary"]["pending"]) == ("historical", 0)


@pytest.mark.requirement("mcp:outcomes")
@pytest.mark.parametrize("ids", [[], list(range(51)), ["5"], [1.5], [True], [-1], [2**53], "5", {}, [None], [[5]]])
def test_ids_are_checked(mcp: Mcp, ids: Any) -> None:
    assert "1 to 50" in mcp.wrong("spike_outcomes", {"ids": ids})["data"]["allowed"]


@pytest.mark.requirement("mcp:errors:data")
@pytest.mark.parametrize(
    ("tool", "arguments", "argument", "value", "nearest"),
    [
        ("market_snapshot", {}, "base", None, None),
        ("market_snapshot", {"base": "BTX"}, "base", "BTX", "BTC"),
        ("market_snapshot", {"base": ""}, "base", "", None),
        ("market_snapshot", {"base": 5}, "base", 5, None),
        ("market_snapshot", {"base": ["BTC"]}, "base", ["BTC"], None),
        ("market_snapshot", {"base": "binance:perp:BTCUSDT"}, "base", "binance:perp:BTCUSDT", None),
        ("market_snapshot", {"base": "BTC", "limit": 51}, "limit", 51, 50),
        ("market_snapshot", {"base": "BTC", "limit": 0}, "limit", 0, 1),
        ("market_snapshot", {"base": "BTC", "limit": 1.5}, "limit", 1.5, 1),
        ("market_snapshot", {"base": "BTC", "limit": True}, "limit", True, None),
        ("market_snapshot", {"base": "BTC", "limit": "20"}, "limit", "20", None),
        ("market_snapshot", {"base": "BTC", "type": "perps"}, "type", "perps", "perp"),
        ("market_snapshot", {"base": "BTC", "limits": 1}, "limits", 1, "limit"),
        ("oi_history", {}, "base, market", "neither", None),
        ("oi_history", {"base": "BTC", "market": "binance:perp:BTCUSDT"}, "base, market", "base and market", None),
        ("oi_history", {"market": "binance:perp:BTCUST"}, "market", "binance:perp:BTCUST", "binance:perp:BTCUSDT"),
        ("oi_history", {"market": "binanse:perp:BTCUSDT"}, "market", "binanse:perp:BTCUSDT", "binance:perp:BTCUSDT"),
        ("oi_history", {"market": "binance:spot:BTCUSDT"}, "market", "binance:spot:BTCUSDT", None),
        ("oi_history", {"base": "BTC", "range": "1 day"}, "range", "1 day", None),
        ("oi_history", {"base": "BTC", "range": "3y"}, "range", "3y", "730d"),
        ("funding_history", {"base": "BTC", "range": "11y"}, "range", "11y", "3650d"),
        ("oi_history", {"base": "BTC", "step": "10m"}, "step", "10m", "1m"),
        ("oi_history", {"base": "BTC", "step": "auto"}, "step", "auto", None),
        ("oi_history", {"base": "BTC", "venue": "binanc"}, "venue", "binanc", "binance"),
        ("oi_history", {"market": "binance:perp:BTCUSDT", "venue": "bybit"}, "venue", "bybit", None),
        ("liquidations_history", {"base": "BTC", "venue": "hyperliquid"}, "venue", "hyperliquid", None),
        ("funding_history", {"base": "BTC", "type": "spot"}, "type", "spot", None),
        ("oi_history", {"base": "BTC", "start": "2026-06-01"}, "start", "2026-06-01", None),
        ("oi_history", {"base": "BTC", "start": "2026-06-01T00:00:00"}, "start", "2026-06-01T00:00:00", None),
        ("oi_history", {"base": "BTC", "start": "2026-06-01T00:00+02"}, "start", "2026-06-01T00:00+02", None),
        ("oi_history", {"base": "BTC", "start": "2026-13-01T00:00:00Z"}, "start", "2026-13-01T00:00:00Z", None),
        ("oi_history", {"base": "BTC", "start": 1781526896789}, "start", 1781526896789, None),
        ("oi_history", {"base": "BTC", "end": "2999-01-01T00:00:00Z"}, "end", "2999-01-01T00:00:00Z", None),
        ("spike_feed", {"side": "long"}, "side", "long", None),
        ("spike_feed", {"min_sig": -1}, "min_sig", -1, None),
        ("xray_risk_ranking", {"band_pct": 3}, "band_pct", 3, 2.0),
        ("xray_risk_ranking", {"side": "buy"}, "side", "buy", None),
        ("xray_risk_history", {}, "market", None, None),
        ("xray_risk_history", {"market": "binance:perp:BTCUSDT", "step": "5min"}, "step", "5min", "5m"),
    ],
)  # fmt: skip
def test_errors_teach(mcp: Mcp, tool: str, arguments: Any, argument: str, value: Any, nearest: Any) -> None:
    error = mcp.wrong(tool, arguments)
    data = error["data"]
    assert (data["argument"], data["value"], data["nearest"]) == (argument, value, nearest)
    assert data["allowed"]
    assert argument in error["message"]
    if nearest is not None and argument != "range":
        assert f"did you mean {nearest!r}?" in error["message"]
    assert orjson.dumps(error).isascii() or "é" in str(arguments)


@pytest.mark.requirement("mcp:errors:data")
def test_an_end_before_the_start_and_a_long_value_get_short_errors(mcp: Mcp) -> None:
    error = mcp.wrong("oi_history", {"base": "BTC", "start": iso(LAST), "end": iso(LAST - MINUTE)})
    assert (error["data"]["argument"], iso(LAST) in error["message"]) == ("end", True)
    long = mcp.wrong("spike_feed", {"side": "x" * 20_000})
    assert len(orjson.dumps(long)) < 1000
    wide = mcp.wrong("spike_outcomes", {"ids": list(range(3000))})
    assert len(orjson.dumps(wide)) < 1000


@pytest.mark.requirement("mcp:arguments")
def test_null_is_as_good_as_not_given(mcp: Mcp) -> None:
    nulls = dict.fromkeys(("market", "range", "start", "end", "step", "venue", "type"))
    assert mcp.call("oi_history", {"base": "BTC", **nulls}) == mcp.call("oi_history", {"base": "BTC"})


@pytest.mark.requirement("mcp:edition")
def test_a_result_is_from_the_newest_edition(tmp_path: Path) -> None:
    serving = tmp_path / "serving"
    publish(serving, 1, AS_OF_MS - MINUTE, max_days=2)
    with running(serving, free_port()) as api:
        mcp = Mcp(api)
        assert mcp.call("market_snapshot", {"base": "BTC"})["provenance"]["edition"] == 1
        publish(serving, 2, max_days=2)
        until(lambda: mcp.call("market_snapshot", {"base": "BTC"}), lambda got: got["provenance"]["edition"] == 2)
        assert mcp.call("market_snapshot", {"base": "BTC"})["as_of"] == AS_OF_MS
