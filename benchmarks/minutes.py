"""Recorded minutes in a landing, made without waiting for them."""

import asyncio
import time
from pathlib import Path

from ingest.landing import land
from ingest.rows import Row
from tests.recorder_minutes import MINUTE as MINUTE_MS
from tests.recorder_minutes import recorder

__all__ = ["MINUTE_MS", "record"]


def record(landing: Path, state: Path, universe: str, start_ms: int, count: int) -> None:
    """Lands `count` minutes from `start_ms`, one load each, as a running recorder would have."""
    asyncio.run(_record(landing, state, universe, start_ms, count))


async def _record(landing: Path, state: Path, universe: str, start_ms: int, count: int) -> None:
    async with recorder(universe=universe, long_running=True) as (_, minute):
        for tick_ms in range(start_ms, start_ms + count * MINUTE_MS, MINUTE_MS):
            ahead_ms = int(time.time() * 1000) - tick_ms
            rows = [_earlier(row, ahead_ms) for row in await minute(tick_ms)]
            await asyncio.to_thread(land, rows, str(landing), state)


def _earlier(row: Row, by_ms: int) -> Row:
    """The row as if asked in its own minute. Answers of hours later would have each publish seal an hour again."""
    received_ms = None if row.received_ms is None else row.received_ms - by_ms
    return row._replace(requested_ms=row.requested_ms - by_ms, received_ms=received_ms)
