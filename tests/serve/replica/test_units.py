"""Units of durations, against the calendar's own."""

from datetime import timedelta

import pytest

from serve.replica.units import UNIT_MS, Span


@pytest.mark.requirement("series:range:units")
def test_units_are_those_of_the_calendar_and_a_year_is_365_days() -> None:
    same = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
    wanted = {unit: timedelta(**{name: 1}) for unit, name in same.items()} | {"y": timedelta(days=365)}
    assert {unit: timedelta(milliseconds=ms) for unit, ms in UNIT_MS.items()} == wanted


@pytest.mark.requirement("series:range:units")
def test_a_span_is_its_two_ends() -> None:
    start, end = Span(1, 5)
    assert (start, end) == (1, 5)
