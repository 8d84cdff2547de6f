"""The envelope of every tool's result: size, rounding, coverage, warnings and freshness."""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import orjson
import pytest

from serve.contract.serialize import significant
from serve.http.keys import create_key
from serve.mcp import tools as declared
from serve.mcp.tool import ENVELOPE
from tests.support.replica.replica import AS_OF_MS, DAY, GAPS, MINUTE
from tests.support.servers.api_server import until
from tests.support.servers.mcp_calls import ARGUMENTS, HELLO, TOOLS, Mcp, iso, warned

FIRST = 9007199254700000  # the newest spike's id; the others count up
# The greatest share of digits in a text that a tokenizer of today was seen to need: 2.1 characters a token.
CHARS_A_TOKEN = 2.0


@pytest.mark.requirement("mcp:tokens")
def test_results_of_default_calls_fit_a_context_window(mcp: Mcp) -> None:
    assert list(ARGUMENTS) == TOOLS
    for name, arguments in {**ARGUMENTS, "spike_outcomes": {"ids": [FIRST + n for n in range(20)]}}.items():
        answer = mcp.ask("tools/call", {"name": name, "arguments": arguments})
        text = answer.json["result"]["content"][0]["text"]
        assert len(text) / CHARS_A_TOKEN < 10_000, name
        assert "large_answer" not in text


def names_in(schema: Any) -> set[str]:
    """The names of all properties of a schema."""
    if isinstance(schema, list):
        return set().union(*map(names_in, schema))
    if not isinstance(schema, dict):
        return set()
    own = set(schema.get("properties", ())) | set(schema.get("required", ()))
    return own.union(*(names_in(part) for part in schema.values()))


@pytest.mark.requirement("mcp:definitions", "mcp:envelope")
def test_a_definition_names_everything_that_a_result_has(mcp: Mcp) -> None:
    """The envelope's parts are named by the server's instructions, once for all tools."""
    instructions = mcp.result("initialize", HELLO)["instructions"]
    inside = names_in([part for name, part in ENVELOPE.items() if name != "data"])
    assert {name for name in (*ENVELOPE, *inside) if name not in instructions} == set()
    published = mcp.tools()
    for tool in (one for one in declared.TOOLS if one.name in published):
        assert names_in(tool.schema["properties"]["data"]) <= names_in(published[tool.name]["outputSchema"]), tool.name


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
            assert (got["freshness"], "stale" in warned(got), got["as_of"]) == ("historical", True, AS_OF_MS)
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


@pytest.mark.requirement("mcp:page")
def test_a_result_leads_to_the_page_that_shows_it(mcp: Mcp) -> None:
    """Every tool has one; each of these addresses is a page, with the range and the exchange that were asked for."""
    day = {"range": "1d", "step": "1h"}
    more = [
        ("oi_history", {"base": "xyz:tsla", **day}, "/coins/xyz%3ATSLA/oi?"),
        ("oi_history", {"base": "BTC", "venue": "bybit", **day}, "/coins/BTC/oi?"),
        ("funding_history", {"market": "binance:perp:BTCUSDT", **day}, "/markets/binance%3Aperp%3ABTCUSDT?"),
        ("spike_feed", {"base": "btc"}, "/spikes/BTC"),
        ("xray_risk_ranking", {"band_pct": 0.5, "side": "long"}, "/xray?band=0.5&side=long"),
    ]
    for name, arguments, begins in [*((name, given, "/") for name, given in ARGUMENTS.items()), *more]:
        got = mcp.call(name, arguments)
        url = urlsplit(got["provenance"]["page"])
        path = f"{url.path}?{url.query}"
        assert (url.netloc, path.startswith(begins)) == (f"127.0.0.1:{mcp.api.port}", True), (name, path)
        answer = mcp.api.get(path, Accept="text/html")
        assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8"), path
        chosen = dict(parse_qsl(url.query))
        asked = got["coverage"]["requested"]
        if "start" in chosen:
            assert (int(chosen["start"]), int(chosen["end"])) == (asked["start"], asked["end"])
            of_venue = None if got["data"]["market"] else got["data"]["venue"]
            assert (chosen["step"], chosen.get("venue")) == (got["data"]["step"], of_venue)
