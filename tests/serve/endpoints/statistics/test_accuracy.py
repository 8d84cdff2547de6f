"""GET /api/accuracy, against rows that were written by hand."""

import pytest

from tests.support.replica.replica import AS_OF_MS
from tests.support.replica.replica_snapshots import DAY
from tests.support.servers.api_server import Api

ACCURACY = "/api/accuracy"


@pytest.mark.requirement("accuracy:rows")
def test_accuracy(api: Api) -> None:
    content = api.get(ACCURACY).json
    day = AS_OF_MS // DAY * DAY - 2 * DAY
    assert content["state"] == "ok"
    assert [(row["t"], row["venue"], row["metric"]) for row in content["rows"]] == [
        (day, "binance", "price"),
        (day, "binance", "volume"),
        (day, "bybit", "funding"),
        (day, "bybit", "volume"),
        (day - 7 * DAY, "binance", "price"),
    ]
    assert content["rows"][0] == {
        "day": "2026-06-13", "t": day, "venue": "binance", "metric": "price", "n": 24, "median_difference": 0.001,
        "allowed_difference": 0.01,
        "p99_difference": 0.01, "worst_difference": 0.02, "worst_market": "binance:perp:BTCUSDT",
        "worst_ms": day + 3_600_000, "worst_recorded": 102, "worst_published": 100, "minutes_missing": 3,
    }  # fmt: skip
    assert len(api.get(f"{ACCURACY}?window=7d").json["rows"]) == 4
    assert len(api.get(f"{ACCURACY}?venue=bybit").json["rows"]) == 2
    assert len(api.get(f"{ACCURACY}?metric=price&window=365d").json["rows"]) == 2
    answer = api.get(f"{ACCURACY}?venue=upbit")
    assert answer.status == 400
    assert "upbit" in answer.error
