"""The clock of the pipeline: UTC epoch milliseconds, cut into minutes, and as people read them."""

import time
from datetime import UTC, datetime

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
SECONDS = "%Y-%m-%d %H:%M:%S"


def now_ms() -> int:
    """The time now."""
    return time.time_ns() // 1_000_000


def start_of(ms: int, step_ms: int = MINUTE_MS) -> int:
    """The start of the minute (or hour, or day) that holds a time."""
    return ms - ms % step_ms


def as_utc(ms: int, form: str = "%Y-%m-%d %H:%M") -> str:
    """A time as people read it."""
    return f"{datetime.fromtimestamp(ms / 1000, UTC):{form}} UTC"
