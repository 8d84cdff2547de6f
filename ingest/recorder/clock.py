"""The clock: now in UTC epoch ms, the start of a minute, a time as text."""

import time
from datetime import UTC, datetime


def now_ms() -> int:
    """Milliseconds since the epoch, UTC."""
    return time.time_ns() // 1_000_000


def minute_start(ms: int, minute_ms: int) -> int:
    """The start of the minute that a time lies in, both UTC epoch ms; tests use minutes shorter than 60,000 ms."""
    return ms // minute_ms * minute_ms


def as_text(ms: int) -> str:
    """A time as `2026-11-22 19:30:00Z`."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
