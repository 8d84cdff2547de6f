"""The instant at which simulated markets are recorded: one for all tests, unless TIDEMARK_TEST_START gives another.

The wall clock decides nothing: a test that passes passes at any time, and one that fails can be run again as it was.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from unittest.mock import patch

VARIABLE = "TIDEMARK_TEST_START"
DEFAULT = "2026-11-18T10:47:23Z"
MINUTE, HOUR = 60_000, 3_600_000
LOADED_MS = time.time_ns() // 1_000_000  # by the real clock


def to_ms(text: str) -> int:
    """The milliseconds of an ISO time with its zone."""
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(f"{VARIABLE} is {text!r}, but it must be a time with its zone such as {DEFAULT}")
    return int(at.timestamp() * 1000)


def to_text(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms // 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"


def start_ms(step_ms: int = MINUTE) -> int:
    """The start, moved back to a whole minute, or to a whole step of another length."""
    at = to_ms(os.environ.get(VARIABLE, DEFAULT))
    if at > LOADED_MS:
        raise ValueError(f"{VARIABLE} is {to_text(at)}, but it must lie in the past")
    return at // step_ms * step_ms


@contextmanager
def clock_from(now_ms: int) -> Iterator[None]:
    """Let the clock of this process run on from an instant while the block runs. dbt's own process has the real one, so
    it closes no window."""
    import dlt.common.time  # noqa: F401 - it keeps `time.time` as it is when it is imported

    real = time.time_ns
    ahead_ns = now_ms * 1_000_000 - real()

    def time_ns() -> int:
        return real() + ahead_ns

    with (
        patch("time.time_ns", time_ns),
        patch("time.time", lambda: time_ns() / 1e9),
        patch("orchestration.warehouse.closing.MOST_MINUTES", 0),
    ):
        yield
