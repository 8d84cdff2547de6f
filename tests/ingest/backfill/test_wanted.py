"""The part of the history to fetch: whole rows of the wanted kinds, and none that the venue no longer keeps."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.backfill.wanted import SAMPLE_DAYS, Wanted
from ingest.declaration.endpoint import DAY_MS
from ingest.declaration.history import STEPS_MS, History
from ingest.venues import VENUES

AT_MS = 1_790_000_123_456
HISTORIES = [one for venue in VENUES for one in venue.history]
BARS = replace(HISTORIES[0], endpoint="perp_bars", interval="1h", days=365, kept_days=None)
TIMES = st.none() | st.integers(AT_MS - 900 * DAY_MS, AT_MS + DAY_MS)


@given(st.sampled_from(HISTORIES), TIMES, TIMES, st.booleans())
def test_a_span_is_whole_rows_of_what_the_venue_still_keeps(
    history: History, begin_ms: int | None, end_ms: int | None, sample: bool
) -> None:
    begin, end = Wanted(begin_ms=begin_ms, end_ms=end_ms, sample=sample).span(history, AT_MS)
    assert begin % history.step_ms == end % history.step_ms == 0
    assert end <= AT_MS
    assert end_ms is None or end <= end_ms
    assert begin_ms is None or begin >= begin_ms
    if history.kept_days:
        assert begin > AT_MS - history.kept_days * DAY_MS, "the oldest rows are dropped meanwhile"
    if begin_ms is None:
        assert begin >= AT_MS - history.days * DAY_MS


@given(st.sampled_from(HISTORIES))
def test_a_demos_fetch_is_no_longer_than_the_whole_one(history: History) -> None:
    whole, sample = (Wanted(sample=sample).span(history, AT_MS) for sample in (False, True))
    assert whole[0] <= sample[0] < sample[1] == whole[1]
    assert sample[1] - sample[0] <= SAMPLE_DAYS[history.interval] * DAY_MS


@pytest.mark.parametrize("interval", STEPS_MS)
def test_the_longest_span_is_as_many_rows_as_its_days_have(interval: Any) -> None:
    begin, end = Wanted().span(replace(BARS, interval=interval), AT_MS)
    assert 365 * DAY_MS - 2 * STEPS_MS[interval] <= end - begin <= 365 * DAY_MS


def test_markets_are_those_traded_most_or_those_that_are_named() -> None:
    ranked = ["A", "B", "C"]
    assert Wanted().markets(replace(BARS, top=2), ranked) == ["A", "B"]
    assert Wanted(top=3).markets(replace(BARS, top=2), ranked) == ranked
    assert Wanted(top=3, sample=True).markets(replace(BARS, sample=1), ranked) == ["A"]
    named = Wanted(symbols=["GONE", "C", "A"])
    assert named.markets(BARS, ranked) == ["A", "C"]
    archive = next(archive for venue in VENUES for archive in venue.archives)
    assert named.markets(archive, ranked) == ["A", "C", "GONE"], "an archive has delisted markets"
    assert named.markets(archive, [""]) == [""], "one file for all markets"


def test_a_kind_is_named_with_or_without_its_interval() -> None:
    daily = replace(BARS, interval="1d")
    assert Wanted().has(BARS)
    assert Wanted(kinds=["perp_bars"]).has(BARS)
    assert Wanted(kinds=["perp_bars"]).has(daily)
    assert Wanted(kinds=["perp_bars_1d"]).has(daily)
    assert not Wanted(kinds=["perp_bars_1d", "spot_bars"]).has(BARS)
