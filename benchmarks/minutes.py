"""Recorded minutes in a landing, generated without waiting."""

import asyncio
from pathlib import Path

from ingest.landing.landing import land
from tests.support.pipeline.recorder_minutes import MINUTE as MINUTE_MS
from tests.support.pipeline.recorder_minutes import recorder

__all__ = ["MINUTE_MS", "record"]


def record(landing: Path, state: Path, universe: str, start_ms: int, count: int) -> None:
    """Land `count` minutes from `start_ms`, one load each, as a running recorder would."""
    asyncio.run(_record(landing, state, universe, start_ms, count))


async def _record(landing: Path, state: Path, universe: str, start_ms: int, count: int) -> None:
    async with recorder(universe=universe, long_running=True) as (_, minute):
        for tick_ms in range(start_ms, start_ms + count * MINUTE_MS, MINUTE_MS):
            await asyncio.to_thread(land, await minute(tick_ms), str(landing), state)
