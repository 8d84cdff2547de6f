"""The pipeline's clock: UTC epoch milliseconds, truncation to minutes, and times as text."""

import time
from datetime import UTC, datetime

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
SECONDS = "%Y-%m-%d %H:%M:%S"


def now_ms() -> int:
    """The time now."""
    return time.time_ns() // 1_000_000


def start_of(ms: int, step_ms: int = MINUTE_MS) -> int:
    """Truncate a time to its minute (or hour, or day)."""
    return ms - ms % step_ms


def minute_name(ms: int) -> str:
    """The name of a minute in logs and in Dagster, as the recorder and the server write it."""
    return f"{datetime.fromtimestamp(start_of(ms) / 1000, UTC):{SECONDS}}Z"


def as_utc(ms: int, form: str = "%Y-%m-%d %H:%M") -> str:
    """A time as text."""
    return f"{datetime.fromtimestamp(ms / 1000, UTC):{form}} UTC"
