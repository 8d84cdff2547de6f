"""The WebSocket endpoints: Binance's forceOrder streams, Bybit's allLiquidation topics, and recorded frames."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import orjson
from sanic import Sanic
from sanic.request import Request
from sanic.server.websockets.impl import WebsocketImplProtocol

from ingest.sandbox.dispatch import Sandbox, hosts, transport
from ingest.sandbox.replay import RecordedStream, split_host
from ingest.sandbox.streams import Connection

ALL_LIQUIDATIONS = "!forceOrder@arr"
_BYBIT_ARGS = 21_000  # characters in one args message


@asynccontextmanager
async def _connected(
    sandbox: Sandbox, request: Request[Any, Any], ws: WebsocketImplProtocol
) -> AsyncIterator[Connection]:
    """Register the client and send it what is offered, until it leaves."""
    venue, _, path = split_host(request.path)
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


def _message(text: Any) -> dict[str, Any]:
    try:
        value = orjson.loads(text)
    except (orjson.JSONDecodeError, TypeError):
        return {}
    return value if isinstance(value, dict) else {}


def _binance_topics(streams: list[str]) -> set[str]:
    topics = set()
    for stream in streams:
        if stream == ALL_LIQUIDATIONS:
            topics.add("*")
        elif stream.endswith("@forceOrder"):
            topics.add(stream.removesuffix("@forceOrder").upper())
    return topics


def _add_binance(app: Sanic[Any, Any], sandbox: Sandbox) -> None:
    async def listen(request: Request[Any, Any], ws: WebsocketImplProtocol, streams: list[str], silent: bool) -> None:
        async with _connected(sandbox, request, ws) as connection:
            if not silent:
                connection.topics |= _binance_topics(streams)
            async for text in ws:
                message = _message(text)
                names = [str(name) for name in message.get("params") or []]
                if message.get("method") == "SUBSCRIBE" and not silent:
                    connection.topics |= _binance_topics(names)
                elif message.get("method") == "UNSUBSCRIBE":
                    connection.topics -= _binance_topics(names)
                await ws.send(orjson.dumps({"result": None, "id": message.get("id")}).decode())

    async def raw(request: Request[Any, Any], ws: WebsocketImplProtocol, stream: str = "") -> None:
        # Since 2026-04-23 the paths without /market connect but deliver nothing.
        await listen(request, ws, [unquote(stream)] if stream else [], "/market/" not in request.path)

    async def combined(request: Request[Any, Any], ws: WebsocketImplProtocol) -> None:
        async with _connected(sandbox, request, ws) as connection:
            streams = (request.args.get("streams") or "").split("/")
            if "/market/" in request.path:
                connection.topics |= _binance_topics(streams)
                connection.combined = streams[0]
            async for _ in ws:
                pass

    for root in ("/fstream.binance.com/market", "/fstream.binance.com"):
        tag = root.rpartition("/")[2]
        app.add_websocket_route(raw, f"{root}/ws", name=f"binance_ws_{tag}")
        app.add_websocket_route(raw, f"{root}/ws/<stream:str>", name=f"binance_stream_{tag}")
        app.add_websocket_route(combined, f"{root}/stream", name=f"binance_combined_{tag}")


def _bybit_reply(connection: Connection, message: dict[str, Any], identity: str) -> dict[str, Any] | None:
    operation, request_id = message.get("op"), message.get("req_id", "")
    if operation == "ping":
        return {"success": True, "ret_msg": "pong", "conn_id": identity, "req_id": request_id, "op": "ping"}
    if operation not in ("subscribe", "unsubscribe"):
        return {"success": False, "ret_msg": f"error:unknown op {operation!r}", "conn_id": identity,
                "req_id": request_id, "op": operation}  # fmt: skip
    topics = {str(topic) for topic in message.get("args") or []}
    wrong = sorted(topic for topic in topics if "." not in topic)
    if wrong or len(orjson.dumps(message.get("args"))) > _BYBIT_ARGS:
        text = f"error:handler not found,topic:{wrong[0]}" if wrong else "args size exceeds 21000"
        return {"success": False, "ret_msg": text, "conn_id": identity, "req_id": request_id, "op": operation}
    connection.topics = connection.topics | topics if operation == "subscribe" else connection.topics - topics
    return {"success": True, "ret_msg": "", "conn_id": identity, "req_id": request_id, "op": operation}


def _add_bybit(app: Sanic[Any, Any], sandbox: Sandbox) -> None:
    async def linear(request: Request[Any, Any], ws: WebsocketImplProtocol) -> None:
        identity = str(uuid4())
        async with _connected(sandbox, request, ws) as connection:
            async for text in ws:
                reply = _bybit_reply(connection, _message(text), identity)
                await ws.send(orjson.dumps(reply).decode())

    app.add_websocket_route(linear, "/stream.bybit.com/v5/public/linear", name="bybit_linear")


def add_simulated_sockets(app: Sanic[Any, Any], sandbox: Sandbox) -> None:
    """The WebSocket paths of the simulated venues."""
    _add_binance(app, sandbox)
    _add_bybit(app, sandbox)


async def _play(connection: Connection, stream: RecordedStream) -> None:
    for frame in stream.frames:
        topic = _message(frame).get("topic")
        if topic is None or "*" in connection.topics or topic in connection.topics:
            connection.waiting.put_nowait(frame)
            await asyncio.sleep(1 / stream.rate)


async def _replay(sandbox: Sandbox, stream: RecordedStream, request: Request[Any, Any], ws: Any) -> None:
    bybit = stream.venue == "bybit"
    async with _connected(sandbox, request, ws) as connection:
        connection.topics |= set() if bybit else {"*"}
        playing = None if bybit else asyncio.create_task(_play(connection, stream))
        try:
            async for text in ws:
                if not bybit:
                    continue
                reply = _bybit_reply(connection, _message(text), "replay")
                await ws.send(orjson.dumps(reply).decode())
                if connection.topics and playing is None:
                    playing = asyncio.create_task(_play(connection, stream))
        finally:
            if playing is not None:
                playing.cancel()


def add_replay_sockets(app: Sanic[Any, Any], sandbox: Sandbox) -> None:
    """The WebSocket paths of the recorded streams, with and without the host.

    Routes end in a placeholder, because Sanic never matches a literal `!forceOrder@arr`.
    """
    assert sandbox.replay is not None
    replay = sandbox.replay

    async def listen(request: Request[Any, Any], ws: WebsocketImplProtocol, name: str) -> None:
        venue, _, path = split_host(unquote(request.path))
        stream = replay.stream(venue, path)
        if stream is None:
            await ws.close(4404, f"no recorded stream at {path}")
        else:
            await _replay(sandbox, stream, request, ws)

    parents = {(stream.venue, stream.path.rpartition("/")[0]) for stream in replay.streams}
    routes = {parent for _, parent in parents}
    routes |= {f"/{host}{parent}" for venue, parent in parents for host in hosts(venue)}
    for route in sorted(routes):
        app.add_websocket_route(listen, f"{route}/<name:str>", name=f"replay_ws_{route}".replace("/", "_"))
