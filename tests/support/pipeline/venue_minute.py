"""What one venue's declaration records in a minute from its simulated exchange."""

import asyncio
import time
from typing import Any

from ingest.declaration.venue import Venue
from ingest.landing.rows import Row
from ingest.recorder.client import Client
from ingest.recorder.minute import record_minute
from ingest.recorder.schedule import Schedule
from sandbox.market.world import World
from sandbox.server import create_app, serving
from tests.support.pipeline.recorder_minutes import earlier, unhurried
from tests.support.pipeline.warehouse import MINUTE


async def recorded_minute(venue: Venue, now_ms: int, universe: str = "small") -> tuple[list[dict[str, Any]], World]:
    """The rows of the minute that holds `now_ms`, as they would be landed then, and the simulated market."""
    app = create_app(universe=universe, now_ms=now_ms, rate_limits=False)
    rows: list[Row] = []
    ahead_ms = time.time_ns() // 1_000_000 - now_ms
    async with serving(app) as url, Client(unhurried(venue), url) as client:
        deadline = asyncio.get_running_loop().time() + 60
        tick_ms = now_ms // MINUTE * MINUTE
        await record_minute(client, Schedule(client.venue, MINUTE), tick_ms, deadline, rows.append)
    world = app.ctx.sandbox.world
    assert isinstance(world, World)
    return [earlier(row, ahead_ms)._asdict() for row in rows], world
