"""Recorded minutes without waiting for them: the recorder's own parts ask the stand-ins, whose clock is moved on."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import aiohttp

from ingest.client import Client
from ingest.endpoint import Venue
from ingest.landing import land
from ingest.minute import record_minute
from ingest.rows import Row
from ingest.sandbox.server import create_app, serving
from ingest.schedule import Schedule
from ingest.venues import VENUES

MINUTE_MS = 60_000


def record(landing: Path, state: Path, universe: str, start_ms: int, count: int) -> None:
    """Lands `count` minutes from `start_ms`, one load each, as a running recorder would have."""
    asyncio.run(_record(landing, state, universe, start_ms, count))


async def _record(landing: Path, state: Path, universe: str, start_ms: int, count: int) -> None:
    app = create_app(mode="simulate", universe=universe, rate_limits=False)
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(serving(app))
        admin = await stack.enter_async_context(aiohttp.ClientSession())
        venues = [
            (await stack.enter_async_context(Client(venue, url)), Schedule(venue, MINUTE_MS))
            for venue in (_unhurried(venue, count) for venue in VENUES)
        ]
        for tick_ms in range(start_ms, start_ms + count * MINUTE_MS, MINUTE_MS):
            async with admin.post(f"{url}/_sandbox/clock", json={"now_ms": tick_ms + 1000}) as response:
                response.raise_for_status()
            rows: list[Row] = []
            deadline = asyncio.get_running_loop().time() + 600
            await asyncio.gather(
                *(record_minute(client, schedule, tick_ms, deadline, rows.append) for client, schedule in venues)
            )
            await asyncio.to_thread(land, rows, str(landing), state)


def _unhurried(venue: Venue, minutes: int) -> Venue:
    """The venue with room for the requests of all the minutes at once."""
    return replace(venue, pools=tuple(replace(pool, limit=pool.limit * minutes) for pool in venue.pools))
