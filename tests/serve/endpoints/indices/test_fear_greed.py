"""GET /api/derivatives-fear-greed: its days, today, and days that are provisional."""

from pathlib import Path

import duckdb
import pytest

from tests.support.replica.replica import AS_OF_MS, publish
from tests.support.replica.replica_statistics import DAY, date
from tests.support.servers.api_server import Api, free_port, running

SEASON = "/api/altcoin-season"
GREED = "/api/derivatives-fear-greed"
TODAY = AS_OF_MS - AS_OF_MS % DAY


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
