"""WebSocket connections: connections in the hub, sockets with subscriptions by message, recorded frames."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import unquote

import orjson
from sanic import Sanic, Websocket
from sanic.request import Request

from sandbox.http.dispatch import Sandbox, transport
from sandbox.http.replay import RecordedStream
from sandbox.http.streams import Connection, Reply, message


@asynccontextmanager
async def connected(sandbox: Sandbox, request: Request[Any, Any], ws: Websocket) -> AsyncIterator[Connection]:
    """Register the client and send it its frames, until it disconnects."""
    venue, _, path = sandbox.split(request.path)
    connection = Connection(venue or "", path, transport(request).abort)

    async def send() -> None:
        while True:
            await ws.send(await connection.waiting.get())

    sandbox.hub.connections.add(connection)
    sending = asyncio.create_task(send())
    try:
        yield connection
    finally:
        sandbox.hub.connections.discard(connection)
        sending.cancel()


def add_socket(
    app: Sanic[Any, Any], sandbox: Sandbox, path: str, reply: Reply, welcome: dict[str, Any] | None = None
) -> None:
    """A WebSocket at `/<host><path>` where topics are subscribed to by message; `welcome` is sent at once.

    Sanic never matches a literal colon: a host with a port is written `<host:str>`.
    """

    async def listen(request: Request[Any, Any], ws: Websocket, **_: str) -> None:
        async with connected(sandbox, request, ws) as connection:
            if welcome is not None:
                await ws.send(orjson.dumps(welcome).decode())
            async for text in ws:
                response = reply(connection, text if isinstance(text, str) else "")
                if response is not None:
                    await ws.send(response)

    app.add_websocket_route(listen, path, name="ws" + re.sub(r"\W", "_", path))


def add_simulated_sockets(app: Sanic[Any, Any], sandbox: Sandbox) -> None:
    """The WebSocket paths of the simulated venues."""
    for one in sandbox.venues.values():
        if one.sockets is not None:
            one.sockets(app, sandbox)


async def _play(sandbox: Sandbox, connection: Connection, stream: RecordedStream) -> None:
    known = sandbox.venues.get(stream.venue)
    for frame in stream.frames:
        topic = known.topic(message(frame)) if known and known.topic else None
        if topic is None or "*" in connection.topics or topic in connection.topics:
            connection.waiting.put_nowait(frame)
            await asyncio.sleep(1 / stream.rate)


async def _replay(sandbox: Sandbox, stream: RecordedStream, request: Request[Any, Any], ws: Any) -> None:
    known = sandbox.venues.get(stream.venue)
    reply = known.reply if known else None
    async with connected(sandbox, request, ws) as connection:
        connection.topics |= set() if reply else {"*"}
        playing = None if reply else asyncio.create_task(_play(sandbox, connection, stream))
        try:
            async for text in ws:
                if reply is None:
                    continue
                response = reply(connection, text if isinstance(text, str) else "")
                if response is not None:
                    await ws.send(response)
                if connection.topics and playing is None:
                    playing = asyncio.create_task(_play(sandbox, connection, stream))
        finally:
            if playing is not None:
                playing.cancel()


def add_replay_sockets(app: Sanic[Any, Any], sandbox: Sandbox) -> None:
    """The WebSocket paths of the recorded streams, with and without the host.

    The last part of each route is a parameter, because Sanic never matches a literal `!forceOrder@arr`.
    """
    assert sandbox.replay is not None
    replay = sandbox.replay

    async def listen(request: Request[Any, Any], ws: Websocket, name: str) -> None:
        venue, _, path = sandbox.split(unquote(request.path))
        stream = replay.stream(venue, path)
        if stream is None:
            await ws.close(4404, f"no recorded stream at {path}")
        else:
            await _replay(sandbox, stream, request, ws)

    parents = {(stream.venue, stream.path.rpartition("/")[0]) for stream in replay.streams}
    routes = {parent for _, parent in parents}
    for venue, parent in parents:
        known = sandbox.venues.get(venue)
        routes |= {f"/{host}{parent}" for host in (known.hosts if known else ())}
    for route in sorted(routes):
        app.add_websocket_route(listen, f"{route}/<name:str>", name=f"replay_ws_{route}".replace("/", "_"))
