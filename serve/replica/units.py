"""Durations and time ranges in milliseconds."""

from typing import NamedTuple

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
UNIT_MS = {"m": MINUTE_MS, "h": HOUR_MS, "d": DAY_MS, "w": 7 * DAY_MS, "y": 365 * DAY_MS}


class Span(NamedTuple):
    """A half-open range: buckets with start <= t < end."""

    start: int
    end: int
