"""A recorded stream of a server on loopback: what arrives, and waiting for it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from ingest.declaration.endpoint import Endpoint, Pool, Stream
from ingest.declaration.venue import Venue
from ingest.landing.rows import Row
from ingest.recorder.schedule import Catalogue
from ingest.recorder.streams import StreamRecorder
from tests.support.servers.loopback_venue import HOST, Server

TICKERS = Endpoint("perp_tickers", HOST, "/tickers", "all")


@asynccontextmanager
async def listening(
    stream: Stream, server: Server, minute_ms: int = 1 << 40, catalogue: Catalogue | None = None
) -> AsyncIterator[list[Row]]:
    """The rows of a stream recorder that runs until the end of the block.

    A minute's end adds a row: by default a minute lasts 35 years, so that none ends during a test.
    """
    venue = Venue("test", (Pool("all", 100, 1),), (TICKERS,), (stream,))
    rows: list[Row] = []
    recorder = StreamRecorder(venue, stream, server.url, catalogue or Catalogue(venue), minute_ms, rows.append)
    task = asyncio.create_task(recorder.run())
    try:
        yield rows
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def until(condition: Callable[[], Any], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def on(server: Server, work: Any) -> Any:
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, server.loop))


def messages(rows: list[Row]) -> list[Any]:
    return [entry["message"] for row in rows for entry in json.loads(row.body or "[]")]
