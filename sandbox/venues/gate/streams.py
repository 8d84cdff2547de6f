"""Gate's futures.public_liquidates: the frames, and the WebSocket where contracts (or "!all") are subscribed to."""

import time
from typing import Any

import orjson
from sanic import Sanic

from sandbox.http.dispatch import Sandbox
from sandbox.http.sockets import add_socket
from sandbox.http.streams import Connection, Frame, liquidations_of, message
from sandbox.market.world import World
from sandbox.venues.gate.market import in_contracts
from sandbox.wire.numbers import trimmed

HOST = "fx-ws.gateio.ws"
CHANNEL = "futures.public_liquidates"
EVERYTHING = "!all"
_WINDOW_MS = 500


def frames(world: World, minute: int) -> list[Frame]:
    """All events of a contract, as a list; `size` is the liquidating order's, negative when it sells."""
    pushed: dict[tuple[int, str], list[dict[str, object]]] = {}
    for event in liquidations_of(world, "gate", minute):
        if event.listing.inverse:  # has a socket of its own
            continue
        size = in_contracts(event.listing, event.size, event.price)
        due = (event.ts // _WINDOW_MS + 1) * _WINDOW_MS
        pushed.setdefault((due, event.listing.symbol), []).append({
            "price": round(event.price, event.listing.decimals), "size": trimmed(-size if event.long else size, 1),
            "time": event.ts, "contract": event.listing.symbol,
        })  # fmt: skip
    return [
        (due, symbol, orjson.dumps({"time": due // 1000, "time_ms": due, "channel": CHANNEL, "event": "update",
                                    "result": events}))
        for (due, symbol), events in sorted(pushed.items())
    ]  # fmt: skip


def topic(frame: dict[str, Any]) -> str | None:
    """The contract of a frame; responses to a client have none."""
    result = frame.get("result")
    first = result[0] if isinstance(result, list) and result else result
    return str(first["contract"]) if isinstance(first, dict) and "contract" in first else None


def reply(connection: Connection, text: str) -> str:
    """The response to ping, subscribe and unsubscribe."""
    asked = message(text)
    channel, event = asked.get("channel"), asked.get("event")
    now_ms = time.time_ns() // 1_000_000
    response: dict[str, Any] = {"time": now_ms // 1000, "time_ms": now_ms, "channel": channel, "event": event,
                              "payload": asked.get("payload"), "result": {"status": "success"}}  # fmt: skip
    if channel == "futures.ping":
        response = {"time": now_ms // 1000, "time_ms": now_ms, "channel": "futures.pong", "event": "", "result": None}
    elif channel != CHANNEL or event not in ("subscribe", "unsubscribe") or not asked.get("payload"):
        response |= {"error": {"code": 2, "message": f"unknown channel or invalid argument: {channel}"}, "result": None}
    else:
        topics = {"*" if name == EVERYTHING else str(name) for name in asked["payload"]}
        connection.topics = connection.topics | topics if event == "subscribe" else connection.topics - topics
    return orjson.dumps(response).decode()


def sockets(app: Sanic[Any, Any], sandbox: Sandbox) -> None:
    """The socket of the contracts settled in USDT."""
    add_socket(app, sandbox, f"/{HOST}/v4/ws/usdt", reply)
