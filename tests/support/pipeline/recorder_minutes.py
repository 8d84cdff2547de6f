"""Recorded minutes without waiting: the recorder's own parts request them from the simulators, whose clock is
advanced."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Container, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Protocol

from ingest.declaration.venue import Venue
from ingest.landing.rows import Row
from ingest.recorder.client import Client
from ingest.recorder.minute import record_minute
from ingest.recorder.schedule import Schedule
from ingest.venues import VENUES
from tests.support.servers.sandbox_client import SandboxClient, sandbox

MINUTE = 60_000


class Minute(Protocol):
    """Records one minute and gives up after this many seconds. The rows look as if requested in that minute.

    Venues that are `down` are given up after a second: otherwise they would be retried until the deadline.
    """

    def __call__(self, tick_ms: int, patience_s: float = 600, down: Container[str] = ()) -> Awaitable[list[Row]]: ...


def unhurried(venue: Venue, times: int = 1000) -> Venue:
    """The venue with rate limits large enough for many minutes at once, so that no test waits for a limit."""
    return replace(venue, pools=tuple(replace(pool, limit=pool.limit * times) for pool in venue.pools))


def only(venue: Venue, kinds: set[str]) -> Venue:
    """The venue with these kinds only."""
    return replace(venue, endpoints=tuple(one for one in venue.endpoints if one.name in kinds))


def asked_for_an_hour(schedule: Schedule, tick_ms: int) -> None:
    """Bring the schedule into the state after an hour of recording: all keys that are requested in turns were
    requested."""
    for endpoint in schedule.venue.endpoints:
        fan_out = endpoint.fan_out
        if fan_out is None or fan_out.rest_s is None:
            continue
        for number, key in enumerate(schedule.catalogue.ranked(fan_out)):
            then_ms = tick_ms - number % (fan_out.rest_s // 60) * MINUTE
            schedule._requested.setdefault((endpoint.name, key), then_ms)
            schedule._answered.setdefault((endpoint.name, key), then_ms)


def earlier(row: Row, by_ms: int) -> Row:
    """The row as if it had been requested and received that much earlier."""
    received_ms = None if row.received_ms is None else row.received_ms - by_ms
    return row._replace(requested_ms=row.requested_ms - by_ms, received_ms=received_ms)


@asynccontextmanager
async def recorder(
    venues: Iterable[Venue] = VENUES, long_running: bool = False, **options: object
) -> AsyncIterator[tuple[SandboxClient, Minute]]:
    """Simulators with these options, and a function that records one minute of the venues from them.

    A recorder that has just started catches up: for an hour it asks for several times the bars of a later one. With
    `long_running` only its first minute does.
    """
    async with sandbox(rate_limits=False, **options) as simulators, AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(Client(unhurried(venue), simulators.url)) for venue in venues]
        asked = [(client, Schedule(client.venue, MINUTE)) for client in clients]

        async def minute(tick_ms: int, patience_s: float = 600, down: Container[str] = ()) -> list[Row]:
            await simulators.clock(tick_ms + 1_000)
            ahead_ms = time.time_ns() // 1_000_000 - tick_ms - 1_000
            rows: list[Row] = []
            now_s = asyncio.get_running_loop().time()
            await asyncio.gather(
                *(
                    record_minute(*one, tick_ms, now_s + (1 if one[0].venue.name in down else patience_s), rows.append)
                    for one in asked
                )
            )
            if long_running:
                for _, schedule in asked:
                    asked_for_an_hour(schedule, tick_ms)
            return [earlier(row, ahead_ms) for row in rows]

        yield simulators, minute
