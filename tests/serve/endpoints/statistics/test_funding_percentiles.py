"""GET /api/funding-percentiles: order, filters, and a venue's own ranks."""

import pytest

from tests.support.replica.replica import LAST
from tests.support.servers.api_server import Api

PERCENTILES, PERSISTENCE = "/api/funding-percentiles", "/api/funding-persistence"
SEASON, GREED, SPIKES = "/api/altcoin-season", "/api/derivatives-fear-greed", "/api/spike-stats"


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
