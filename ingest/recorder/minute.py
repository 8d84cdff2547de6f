"""One minute of one venue: each due endpoint and key is requested, and becomes exactly one row."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from ingest.declaration.endpoint import Endpoint, Request
from ingest.landing.rows import Row, canonical
from ingest.recorder.client import Client
from ingest.recorder.clock import now_ms
from ingest.recorder.schedule import Schedule

log = logging.getLogger(__name__)

MOST_PAGES = 50
PATIENCE_S = 10.0
"""Seconds that a fan-out waits for a list that only narrows it."""


@dataclass
class Progress:
    """The progress of a venue's minute."""

    open: int = 1
    """Requests without a response, and endpoints whose requests are not yet known; 1 before the minute has begun."""


async def record_minute(
    client: Client,
    schedule: Schedule,
    tick_ms: int,
    deadline: float,
    emit: Callable[[Row], None],
    progress: Progress | None = None,
) -> None:
    """Send all due requests to the venue; `emit` receives their rows. Ends by the deadline (loop time, s)."""
    tasks: dict[str, asyncio.Task[None]] = {}
    progress = progress or Progress()

    def finish(row: Row) -> None:
        schedule.done(row)
        emit(row)

    async def guarded(endpoint: Endpoint) -> None:
        try:
            await fan_out(endpoint)
        except Exception as error:
            log.exception("%s %s", client.venue.name, endpoint.name)
            finish(_row(client, endpoint, Request("", tick_ms, 0), f"not asked: {error!r}"))

    async def fan_out(endpoint: Endpoint) -> None:
        requests: Sequence[Request] = ()
        try:
            for name in schedule.unknown(endpoint):
                if other := tasks.get(name):
                    of = endpoint.fan_out.of if endpoint.fan_out else None
                    decisive = of is not None and name == of.endpoint
                    await asyncio.wait([other], timeout=None if decisive else PATIENCE_S)
            requests = schedule.requests(endpoint, tick_ms)
        finally:
            progress.open += len(requests) - 1
        if not requests:
            finish(_row(client, endpoint, Request("", tick_ms, 0), _no_keys(schedule, endpoint)))
        await asyncio.gather(*(request_key(endpoint, request) for request in requests))

    async def request_key(endpoint: Endpoint, request: Request) -> None:
        try:
            await _record(client, endpoint, request, deadline, finish)
        finally:
            progress.open -= 1

    for endpoint in schedule.due(tick_ms):
        tasks[endpoint.name] = asyncio.create_task(guarded(endpoint))
    progress.open += len(tasks) - 1
    try:
        await asyncio.gather(*tasks.values())
    finally:
        for task in tasks.values():
            task.cancel()


async def _record(
    client: Client, endpoint: Endpoint, request: Request, deadline: float, finish: Callable[[Row], None]
) -> None:
    """One request, or one request per page."""
    page = 0
    try:
        params: Mapping[str, Any] = endpoint.params(request) if callable(endpoint.params) else endpoint.params
        if endpoint.next_page is None:
            finish(await client.fetch(endpoint, request, params, deadline))
            return
        for page in range(1, MOST_PAGES + 1):
            row = await client.fetch(endpoint, Request(str(page), request.tick_ms, request.bars), params, deadline)
            finish(row)
            if row.status != 200 or row.error or row.body is None:
                return
            more = endpoint.next_page(orjson.loads(row.body))
            if more is None:
                return
            params = {**params, **more}
        log.error("%s %s has more than %d pages", client.venue.name, endpoint.name, MOST_PAGES)
    except Exception as error:
        # A body that does not have the declared shape, or an error in the declaration: it concerns this key only.
        log.exception("%s %s %s", client.venue.name, endpoint.name, request.key)
        if page:
            request = Request(str(page + 1), request.tick_ms, request.bars)
        finish(_row(client, endpoint, request, f"not asked: {error!r}"))


def _no_keys(schedule: Schedule, endpoint: Endpoint) -> str:
    missing = schedule.unknown(endpoint)
    of = endpoint.fan_out.of if endpoint.fan_out else None
    if of and of.endpoint in missing:
        return f"not asked: {of.endpoint} gave no keys yet"
    return "not asked: there are no keys"


def _row(client: Client, endpoint: Endpoint, request: Request, error: str) -> Row:
    """A row for a request that was not sent."""
    params = canonical({})
    return Row(
        request.tick_ms, client.venue.name, endpoint.name, request.key, params, None, now_ms(), None, 0, error, None
    )
