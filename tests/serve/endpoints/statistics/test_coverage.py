"""GET /api/coverage, against rows that were written by hand."""

import pytest

from serve.queries.figures.recorded import COUNTS
from tests.support.replica.replica import AS_OF_MS
from tests.support.replica.replica_snapshots import DAY
from tests.support.servers.api_server import Api
from tests.support.servers.described import as_described

PATH = "/api/coverage"


@pytest.mark.requirement("coverage:minutes")
def test_minutes_add_up_and_are_unknown_before_the_recording_began(api: Api) -> None:
    got = as_described(api, PATH)
    today = AS_OF_MS // DAY * DAY
    assert got["t"] == list(range(today - 29 * DAY, today + 1, DAY))
    rows = {(row["venue"], row["endpoint"]): row for row in got["rows"]}
    assert list(rows) == [("binance", "perp_tickers"), ("bybit", "liquidations")]
    assert rows["bybit", "liquidations"]["not_recorded"] == [None] * 20 + [60] * 10
    for row in rows.values():
        assert {len(row[name]) for name in COUNTS} == {30}
        minutes, *outcomes = (row[name] for name in COUNTS)
        for all_, *counts in zip(minutes, *outcomes, strict=True):
            assert counts == [None] * 5 if all_ is None else sum(counts) == all_


@pytest.mark.requirement("coverage:window")
def test_a_window_has_the_days_that_there_are(api: Api) -> None:
    assert len(api.get(f"{PATH}?window=90d").json["t"]) == 40
    answer = api.get(f"{PATH}?window=1d")
    assert answer.status == 400
    assert "30d, 90d, 365d" in answer.error
