"""The pipeline's clock: starts of minutes, hours and days, and times as people read them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestration.config.clock import DAY_MS, HOUR_MS, MINUTE_MS, SECONDS, as_utc, days_of, start_of


@settings(deadline=None)
@given(st.integers(0, 2**43), st.sampled_from([MINUTE_MS, HOUR_MS, DAY_MS]))
def test_a_time_lies_in_the_step_that_begins_at_its_start(ms: int, step_ms: int) -> None:
    start = start_of(ms, step_ms)
    assert start <= ms < start + step_ms
    assert start_of(start, step_ms) == start == start_of(start + step_ms - 1, step_ms)


@pytest.mark.parametrize(
    ("ms", "minutes", "seconds"),
    [
        (0, "1970-01-01 00:00 UTC", "1970-01-01 00:00:00 UTC"),
        (1_709_251_199_999, "2024-02-29 23:59 UTC", "2024-02-29 23:59:59 UTC"),
        (1_772_582_400_000, "2026-03-04 00:00 UTC", "2026-03-04 00:00:00 UTC"),
    ],
)
def test_times_are_read_in_utc(ms: int, minutes: str, seconds: str) -> None:
    assert (as_utc(ms), as_utc(ms, SECONDS)) == (minutes, seconds)


@pytest.mark.parametrize(
    ("text", "days"), [("2026-03-04", 1), ("2026-03-04..2026-03-04", 1), ("2026-03-04..2026-03-06", 3)]
)
def test_days_are_whole_and_both_count(text: str, days: int) -> None:
    assert days_of(text) == (1_772_582_400_000, 1_772_582_400_000 + days * DAY_MS)


@pytest.mark.parametrize(
    "text", ["", "..", "2026-13-01", "yesterday", "2026-03-04...2026-03-06", "2026-03-06..2026-03-04"]
)
def test_what_is_no_day_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"are no days|ends before"):
        days_of(text)
