"""The days of a venue that are whole: by requests and by files, and as ranges."""

from collections.abc import Iterator
from datetime import date
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.backfill.covered import Covered
from ingest.backfill.days import EPOCH, Plan, as_ranges, in_ranges, span_of_days
from ingest.declaration.endpoint import DAY_MS, HOUR_MS

NOW = 40 * DAY_MS + 5 * HOUR_MS


def ordinals(days: list[date]) -> list[int]:
    return [(day - EPOCH).days for day in days]


@pytest.fixture
def covered(tmp_path: Path) -> Iterator[Covered]:
    covered = Covered(tmp_path / "covered.sqlite")
    yield covered
    covered.close()


def test_a_day_is_whole_once_no_market_lacks_a_part_of_it(covered: Covered) -> None:
    span = (30 * DAY_MS + HOUR_MS, NOW)
    plan = Plan(spans=[("bars", key, span) for key in ("A", "B")])
    covered.add("v", "bars", "A", *span)
    assert plan.whole_days("v", covered, NOW) == []
    covered.add("v", "bars", "B", 37 * DAY_MS + 1, NOW)
    # Not the day in which the span begins, not one of which a part is missing, and not today.
    assert ordinals(plan.whole_days("v", covered, NOW)) == [38, 39]
    covered.add("v", "bars", "B", *span)
    assert ordinals(plan.whole_days("v", covered, NOW)) == list(range(31, 40))


def test_files_count_by_the_utc_days_that_they_touch(covered: Covered) -> None:
    day = date(1970, 2, 8)  # day 38
    ahead = span_of_days(day, date(1970, 2, 9), 8)
    assert ahead == (38 * DAY_MS - 8 * HOUR_MS, 39 * DAY_MS - 8 * HOUR_MS)
    plan = Plan(spans=[("bars", "A", (35 * DAY_MS, NOW))], files={"f": ahead}, left={"f"}, unlisted=1)
    covered.add("v", "bars", "A", 35 * DAY_MS, NOW)
    assert plan.whole_days("v", covered, NOW) == []
    plan.unlisted = 0
    assert ordinals(plan.whole_days("v", covered, NOW)) == [35, 36, 39]
    plan.left.clear()
    assert ordinals(plan.whole_days("v", covered, NOW)) == [35, 36, 37, 38, 39]


@given(st.sets(st.dates(date(2020, 1, 1), date(2020, 3, 1))))
def test_ranges_are_the_same_days(days: set[date]) -> None:
    ranges = as_ranges(days)
    assert in_ranges(ranges) == days
    assert all(before[1] < after[0] for before, after in pairwise(ranges))
