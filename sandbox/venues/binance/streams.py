"""Binance's forceOrder streams: the frames, and the WebSocket paths by which they are listened to."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

import orjson
from sanic import Sanic, Websocket
from sanic.request import Request

from sandbox.http.dispatch import Sandbox
from sandbox.http.sockets import connected
from sandbox.http.streams import Connection, Frame, Liquidation, liquidations_of, message
from sandbox.market.world import World

ALL_LIQUIDATIONS = "!forceOrder@arr"
WINDOW_MS = 1000


def order(world: World, event: Liquidation) -> dict[str, Any]:
    """The order of a liquidation; S is the side of the order, the opposite of the position's."""
    price, lot, size = world.price_format[event.row], world.lot_format[event.row], event.size
    if event.listing.inverse:
        lot, size = "%.0f", max(1.0, round(event.size * event.price / event.listing.contract_size))
    last = size if event.filled < 0.45 else size * event.filled
    return {
        "s": event.listing.symbol, "S": "SELL" if event.long else "BUY", "o": "LIMIT", "f": "IOC",
        "q": lot % size, "p": price % (event.price * (0.995 if event.long else 1.005)),
        "ap": price % event.price, "X": "FILLED", "l": lot % last, "z": lot % size, "T": event.ts,
    }  # fmt: skip


def frames(world: World, minute: int) -> list[Frame]:
    """forceOrder frames; like the venue since 2026-06-30 they mix USD-M (st 1) with COIN-M (st 2)."""
    out: list[Frame] = []
    for event in liquidations_of(world, "binance", minute, WINDOW_MS):
        due = (event.ts // WINDOW_MS + 1) * WINDOW_MS
        shown, one = order(world, event), event.listing
        if one.inverse:
            shown |= {"ps": one.base_raw + one.quote}
        kind = 2 if one.inverse else 1
        out.append((due, one.symbol, orjson.dumps({"e": "forceOrder", "E": due, "st": kind, "o": shown})))
    return sorted(out, key=lambda frame: frame[0])


def _topics(streams: Iterable[str]) -> set[str]:
    topics = set()
    for stream in streams:
        if stream == ALL_LIQUIDATIONS:
            topics.add("*")
        elif stream.endswith("@forceOrder"):
            topics.add(stream.removesuffix("@forceOrder").upper())
    return topics


def reply(connection: Connection, text: str, silent: bool = False) -> str:
    """The response to SUBSCRIBE and UNSUBSCRIBE; a silent path acknowledges without effect."""
    asked = message(text)
    names = [str(name) for name in asked.get("params") or []]
    if asked.get("method") == "SUBSCRIBE" and not silent:
        connection.topics |= _topics(names)
    elif asked.get("method") == "UNSUBSCRIBE":
        connection.topics -= _topics(names)
    return orjson.dumps({"result": None, "id": asked.get("id")}).decode()


def add_stream_paths(app: Sanic[Any, Any], sandbox: Sandbox, root: str, silent: bool = False) -> None:
    """`<root>/ws`, `<root>/ws/<stream>` and the combined `<root>/stream?streams=`."""

    async def raw(request: Request[Any, Any], ws: Websocket, stream: str = "") -> None:
        async with connected(sandbox, request, ws) as connection:
            if not silent:
                connection.topics |= _topics([unquote(stream)])
            async for text in ws:
                await ws.send(reply(connection, str(text), silent))

    async def combined(request: Request[Any, Any], ws: Websocket) -> None:
        async with connected(sandbox, request, ws) as connection:
            streams = (request.args.get("streams") or "").split("/")
            if not silent:
                connection.topics |= _topics(streams)
                connection.wrap = lambda topic, text: f'{{"stream":"{streams[0]}","data":{text}}}'
            async for _ in ws:
                pass

    tag = root.strip("/").replace("/", "_")
    app.add_websocket_route(raw, f"{root}/ws", name=f"ws_{tag}")
    app.add_websocket_route(raw, f"{root}/ws/<stream:str>", name=f"stream_{tag}")
    app.add_websocket_route(combined, f"{root}/stream", name=f"combined_{tag}")


def sockets(app: Sanic[Any, Any], sandbox: Sandbox) -> None:
    """Since 2026-04-23 the paths without /market connect but deliver nothing."""
    add_stream_paths(app, sandbox, "/fstream.binance.com/market")
    add_stream_paths(app, sandbox, "/fstream.binance.com", silent=True)
