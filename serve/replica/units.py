"""Durations and time ranges in milliseconds."""

from typing import NamedTuple

UNIT_MS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000, "y": 365 * 86_400_000}


class Span(NamedTuple):
    """A half-open range: buckets with start <= t < end."""

    start: int
    end: int
