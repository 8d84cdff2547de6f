"""Funding statistics, indices and spike statistics on a small replica: order, filters, limits, states."""

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from tests.support.replica.replica import AS_OF_MS, LAST, publish, write_pointer
from tests.support.replica.replica_statistics import DAY
from tests.support.servers.api_server import Api, free_port, running, until

PERCENTILES, PERSISTENCE = "/api/funding-percentiles", "/api/funding-persistence"
SEASON, GREED, SPIKES = "/api/altcoin-season", "/api/derivatives-fear-greed", "/api/spike-stats"
TODAY = AS_OF_MS - AS_OF_MS % DAY


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    serving = tmp_path_factory.mktemp("statistics") / "serving"
    publish(serving, 7)
    with running(serving, free_port()) as api:
        yield api


def date(t: int) -> str:
    return datetime.fromtimestamp(t / 1000, UTC).strftime("%Y-%m-%d")


@pytest.mark.requirement("funding-percentiles:shape", "funding-percentiles:states")
def test_funding_percentiles(api: Api) -> None:
    content = api.get(PERCENTILES).json
    rows = content.pop("rows")
    assert content == {
        "schema_version": 1, "state": "ok", "window": "7d", "venue": "all", "funding_unit": "fraction_per_8h",
    }  # fmt: skip
    assert rows[0] == {
        "base": "BTC", "venue": "binance", "symbol": "BTCUSDT", "oi_usd": 1e9, "live_funding": 1e-4,
        "comparison_funding": 1e-4, "comparison_time_ms": LAST, "percentile": 62.5, "reference_count": 168,
        "expected_count": 168, "coverage_fraction": 1.0, "median_funding": 1e-4, "p10_funding": -1e-5,
        "p90_funding": 3e-4, "stored_funding": None, "stored_time_ms": None, "row_state": "Ranked",
    }  # fmt: skip
    found = [(row["venue"], row["row_state"], row["live_funding"], row["percentile"]) for row in rows[1:]]
    assert found == [("bybit", "NoLiveFunding", None, None), ("gate", "InsufficientHistory", 2e-4, None)]
    month = api.get(f"{PERCENTILES}?window=30d").json["rows"]
    assert (month[0]["expected_count"], month[2]["coverage_fraction"]) == (720, 10 / 720)


@pytest.mark.requirement("funding-percentiles:venue", "statistics:bad")
def test_percentiles_of_a_venue_are_those_of_its_own_50(api: Api) -> None:
    content = api.get(f"{PERCENTILES}?venue=binance").json
    assert [row["base"] for row in content["rows"]] == ["BTC", "PEPE"]
    assert (content["venue"], content["state"]) == ("binance", "ok")
    empty = api.get(f"{PERCENTILES}?venue=okx").json
    assert (empty["state"], empty["rows"]) == ("empty", [])
    for venue in ("bybit", "hyperliquid", "bitget"):
        assert api.get(f"{PERCENTILES}?venue={venue}").status == 200
    assert "binance" in api.get(f"{PERCENTILES}?venue=gate").error
    for wrong in (f"{PERCENTILES}?window=1d", f"{PERSISTENCE}?sign=up", f"{PERSISTENCE}?sort=x", f"{SPIKES}?window=1d"):
        assert api.get(wrong).status == 400, wrong
    for unknown in (SEASON, GREED, f"{SPIKES}/BTC"):
        assert api.get(f"{unknown}?x=1").status == 400, unknown


@pytest.mark.requirement("funding-persistence:shape", "funding-persistence:filters", "statistics:budget")
def test_funding_persistence(api: Api) -> None:
    content = api.get(PERSISTENCE).json
    rows = content.pop("rows")
    assert content == {
        "schema_version": 1, "data_state": "ok", "window": "7d", "sign": "all", "sort": "desc",
        "rate_unit": "fraction_per_interval", "duration_unit": "hours", "evaluated_at_ms": AS_OF_MS,
        "eligible_count": 4,
    }  # fmt: skip
    assert rows[2] == {
        "venue": "hyperliquid", "symbol": "BTC", "base": "BTC", "latest_rate": -2e-5, "interval_h": 1, "stale": False,
        "sign": -1, "current_streak_h": 5, "last_reversal_ms": LAST - 18_000_000,
    }  # fmt: skip
    assert rows[3]["stale"]
    # Equal streaks: by open interest.
    orders = {
        "": [48, 48, 5, 0], "?sort=asc": [0, 5, 48, 48], "?sign=positive": [48, 48], "?sign=negative": [5],
        "?sign=reversal": [48, 5],
    }  # fmt: skip
    for query, streaks in orders.items():
        found = api.get(PERSISTENCE + query).json
        assert [row["current_streak_h"] for row in found["rows"]] == streaks, query
        assert found["eligible_count"] == 4
    assert [row["symbol"] for row in rows[:2]] == ["BTCUSDT", "X"]
    empty = api.get(f"{PERSISTENCE}?window=30d").json
    assert (empty["data_state"], empty["rows"], empty["evaluated_at_ms"]) == ("empty", [], None)
    for path, limit in ((PERCENTILES, "30"), (PERSISTENCE, "30"), (SEASON, "120"), (GREED, "120"), (SPIKES, "120")):
        answer = api.get(path)
        assert answer.headers["x-ratelimit-limit"] == limit, path
        assert api.get(path, If_None_Match=answer.headers["etag"]).status == 304


@pytest.mark.requirement("altcoin:shape", "altcoin:history")
def test_altcoin_season(api: Api) -> None:
    content = api.get(SEASON).json
    values = {n: 50 + 50 * math.cos(n / 20) for n in range(1, 367) if n not in (3, 200)}
    history = [[TODAY - n * DAY, pytest.approx(values[n], abs=1e-9)] for n in sorted(values, reverse=True)]
    assert content.pop("history") == history
    assert [coin["base"] for coin in content["coins"]] == ["ETH", "SOL", "ADA", "XRP"]
    assert content.pop("coins")[0] == {
        "rank": 1, "base": "ETH", "symbol": "ETHUSDT", "return_90d": 0.35, "vs_btc": 0.25, "beat_btc": True,
    }  # fmt: skip
    excluded = [{"base": "BTC", "reason": "benchmark"}, {"base": "YNG", "reason": "young"}]
    alt = [n for n in values if values[n] >= 75]
    btc = [n for n in values if values[n] <= 25]
    entered = {
        name: min(n for n in days if n + 1 in values and n + 1 not in days)
        for name, days in (("alt", alt), ("btc", btc))
    }
    assert content == {
        "value": pytest.approx(values[1]), "zone": "altcoin_season", "date": date(TODAY - DAY), "provisional": False,
        "as_of": AS_OF_MS, "source": "altcoin_season@e7, ranked by the 30-day mean of daily USD volume",
        "value_30d_ago": pytest.approx(values[31]), "window_days": 90, "alt_season_min": 75, "btc_season_max": 25,
        "n_coins": 4, "n_beat_btc": 3, "n_universe": 9, "btc_return": 0.1, "excluded": excluded,
        "high_1y": pytest.approx(max(values.values())), "low_1y": pytest.approx(min(values.values())),
        "days_alt_season_1y": len(alt), "days_btc_season_1y": len(btc),
        "last_cross_alt_season": date(TODAY - entered["alt"] * DAY),
        "last_cross_btc_season": date(TODAY - entered["btc"] * DAY),
    }  # fmt: skip


@pytest.mark.requirement("fear-greed:shape", "fear-greed:today")
def test_fear_greed(api: Api) -> None:
    content = api.get(GREED).json
    days = content.pop("days")
    assert [day["date"] for day in days] == [date(TODAY - n * DAY) for n in range(365, 0, -1) if n != 5]
    assert days[-1] == {
        "date": date(TODAY - DAY), "value": 26, "exact": 25.5, "label": "Neutral", "provisional": False,
        "components": {"funding": 1, "oi": None, "ls": 50, "liq": None},
    }  # fmt: skip
    assert content.pop("methodology")
    assert content == {
        "name": "Derivatives fear and greed", "formula_version": 1,
        "today": {"date": date(TODAY), "value": 25, "exact": 25.0, "label": "Neutral", "provisional": True,
                  "components": {"funding": 0, "oi": None, "ls": 50, "liq": None}},
    }  # fmt: skip


@pytest.mark.requirement("fear-greed:today", "altcoin:history")
def test_days_that_do_not_stand_yet_are_provisional(tmp_path: Path) -> None:
    """While the exchanges' history is being fetched, no day is final, and both indices are provisional."""
    serving = tmp_path / "serving"
    path = publish(serving, 1, max_days=1)
    with duckdb.connect(str(path)) as con:
        con.execute("update altcoin_season set final = false; update fear_greed set final = false")
    with running(serving, free_port()) as api:
        assert api.get(SEASON).json["provisional"] is True
        greed = api.get(GREED).json
        assert {day["provisional"] for day in [*greed["days"], greed["today"]]} == {True}


@pytest.mark.requirement("spike-stats:shape", "spike-stats:coins")
def test_spike_stats(api: Api) -> None:
    content = api.get(SPIKES).json
    assert [coin["base"] for coin in content["coins"]] == ["BTC", "ADA", "SOL", "FEW"]
    assert content["coins"][0] == {"base": "BTC", "n": 90, "hits": 60, "hit_rate": 60 / 90, "median": 0.006}
    # Coins with fewer than 30 outcomes are neither best nor worst.
    assert [coin["base"] for coin in content["best"]] == ["BTC", "SOL", "ADA"]
    assert [coin["base"] for coin in content["worst"]] == ["ADA", "SOL", "BTC"]
    assert (content["n_coins"], content["min_coin_n"], content["horizons_min"]) == (4, 30, [5, 15, 60])
    assert [row["horizon_min"] for row in content["overall"]] == [5, 15, 60]
    assert content["overall"][0] | {"q1": 0} == {
        "horizon_min": 5, "n": 190, "hits": 100, "hit_rate": 100 / 190, "base_rate": 0.5, "q1": 0, "median": 0.01,
        "q3": 0.01, "mean": 0.0, "first_ms": 1, "last_ms": 2, "n_independent": 95, "low_n": False,
    }  # fmt: skip
    found = ("window", "sample", "mixed", "low_n", "measured", "pending", "unavailable", "as_of")
    assert [content[name] for name in found] == ["30d", 200, True, False, 570, 3, 10, AS_OF_MS - 1000]
    assert set(content["by"]) == {"venues", "directions"}
    empty = api.get(f"{SPIKES}?window=7d")
    assert (empty.status, empty.json["state"]) == (503, "unavailable")


@pytest.mark.requirement("spike-stats:coin", "spike-stats:unknown", "spike-stats:recent")
def test_spike_stats_of_a_coin(api: Api) -> None:
    assert api.get(f"{SPIKES}/btc?window=all").json["base"] == "BTC"
    content = api.get(f"{SPIKES}/ADA?window=all").json
    assert (content["base"], content["window"], content["sample"], content["low_n"]) == ("ADA", "all", 60, False)
    assert not {"coins", "best", "worst"} & set(content)
    recent = content["recent"]
    assert [spike["ts"] for spike in recent] == [LAST - n * 3_600_000 for n in range(20)]
    assert recent[0] == {
        "id": 0, "ts": LAST, "venue": "binance", "symbol": "ADAUSDT", "hip3": False, "dir": "buy", "sig": 7.5,
        "volume_usd": 1e6, "price": 60_000.0,
        "outcomes": [{"horizon_min": h, "state": "pending", "reason": None, "return": None, "directional_return": None}
                     for h in (5, 15, 60)],
    }  # fmt: skip
    assert [outcome["state"] for outcome in recent[3]["outcomes"]] == ["unavailable"] * 3
    assert recent[3]["outcomes"][0]["reason"] == "missing_outcome"
    assert recent[1]["outcomes"][2] == {
        "horizon_min": 60, "state": "observed", "reason": None, "return": 0.01, "directional_return": -0.01,
    }  # fmt: skip
    # Spikes of long ago: nothing in the window, but a coin with a recorded spike.
    old = api.get(f"{SPIKES}/OLD").json
    assert (old["sample"], old["low_n"], old["recent"]) == (0, True, [])
    assert api.get(f"{SPIKES}/NOPE").status == 404
    assert "NOPE" in api.get(f"{SPIKES}/NOPE").error
    uncounted = api.get(f"{SPIKES}/ETH")
    assert (uncounted.status, uncounted.json["state"]) == (503, "loading")


@pytest.mark.requirement("statistics:unavailable", "fear-greed:db", "statistics:empty")
def test_without_data(tmp_path: Path) -> None:
    """Tables without rows: universes are empty, indices without a day are loading. Without a replica: 503."""
    serving = tmp_path / "serving"
    path = publish(serving, 1, max_days=1)
    tables = ("funding_percentiles", "funding_persistence", "altcoin_season", "fear_greed", "spike_stats", "spikes")
    with duckdb.connect(str(path)) as con:
        con.execute(";".join(f"delete from {table}" for table in tables))
    with running(serving, free_port()) as api:
        assert api.get(PERCENTILES).json["state"] == "empty"
        assert api.get(PERSISTENCE).json["data_state"] == "empty"
        greed = api.get(GREED).json
        assert (greed["days"], "db" in greed) == ([], False)
        assert greed["today"] == {"date": date(TODAY), "value": None, "provisional": True}
        for path_of in (SEASON, SPIKES):
            answer = api.get(path_of)
            assert (answer.status, answer.json["state"]) == (503, "loading"), path_of
            assert int(answer.headers["retry-after"]) > 0
        assert api.get(f"{SPIKES}/BTC").status == 404
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    with running(nothing, free_port(), now_ms=AS_OF_MS) as api:
        for state in ("loading", "unavailable"):
            for path_of in (PERCENTILES, PERSISTENCE, SEASON, SPIKES, f"{SPIKES}/BTC"):
                answer = api.get(path_of)
                assert (answer.status, answer.json["state"]) == (503, state), path_of
                assert int(answer.headers["retry-after"]) > 0
            answer = api.get(GREED)
            assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
            assert (answer.json["db"], answer.json.get("error"), answer.json["days"]) == (
                False, True if state == "unavailable" else None, [],
            )  # fmt: skip
            assert answer.json["today"]["date"] == date(AS_OF_MS)
            write_pointer(nothing, "{")
            until(lambda: api.get(SEASON).json["state"], lambda found: found == "unavailable")
