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


def days_of(text: str) -> tuple[int, int]:
    """The span [begin, end) of a day or of days, as `2026-11-01` or `2026-11-01..2026-11-03` (both count), UTC epoch
    ms. ValueError says what is wrong."""
    first, _, last = text.partition("..")
    try:
        begin, end = (datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC) for day in (first, last or first))
    except ValueError:
        raise ValueError(
            f"{text!r} are no days: write a day as `2026-11-01`, or several as `2026-11-01..2026-11-03`"
        ) from None
    if end < begin:
        raise ValueError(f"{text!r} ends before it begins")
    return int(begin.timestamp()) * 1000, int(end.timestamp()) * 1000 + DAY_MS
