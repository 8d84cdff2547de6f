"""GET /api/funding-persistence: streaks, reversals, and stale markets."""

import pytest

from tests.support.replica.replica import AS_OF_MS, LAST
from tests.support.servers.api_server import Api

PERCENTILES, PERSISTENCE = "/api/funding-percentiles", "/api/funding-persistence"
SEASON, GREED, SPIKES = "/api/altcoin-season", "/api/derivatives-fear-greed", "/api/spike-stats"


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
