"""Bitget's liquidation topic: one push a second, and the WebSocket where it is subscribed to."""

from typing import Any

import orjson
from sanic import Sanic

from sandbox.http.dispatch import Sandbox
from sandbox.http.sockets import add_socket
from sandbox.http.streams import Connection, Frame, liquidations_of, message
from sandbox.market.world import World
from sandbox.venues.bitget.market import category
from sandbox.wire.numbers import trimmed

HOST = "ws.bitget.com"
WINDOW_MS = 1000
_TYPES = ("usdt-futures", "usdc-futures", "coin-futures")


def frames(world: World, minute: int) -> list[Frame]:
    """A second's liquidations of a category in one frame; side is the position's, amount the notional in quote.

    The venue shows the largest long and the largest short of a pair and second, the simulated one the latest of a pair.
    """
    pushed: dict[tuple[int, str], list[dict[str, str]]] = {}
    for event in liquidations_of(world, "bitget", minute, WINDOW_MS):
        due = (event.ts // WINDOW_MS + 1) * WINDOW_MS
        pushed.setdefault((due, category(event.listing).lower()), []).append({
            "symbol": event.listing.symbol, "side": "buy" if event.long else "sell",
            "price": trimmed(event.price, event.listing.decimals), "amount": trimmed(event.size * event.price, 12),
            "ts": str(event.ts),
        })  # fmt: skip
    return [
        (due, kind, orjson.dumps({"action": "update", "arg": _argument(kind), "data": data, "ts": due}))
        for (due, kind), data in sorted(pushed.items())
    ]


def _argument(kind: str) -> dict[str, str]:
    return {"instType": kind, "topic": "liquidation"}


def topic(frame: dict[str, Any]) -> str | None:
    """The category of a liquidation frame; responses to a client have none."""
    argument = frame.get("arg")
    return str(argument.get("instType")) if isinstance(argument, dict) and "data" in frame else None


def reply(connection: Connection, text: str) -> str | None:
    """`pong`, or one response per argument of a subscription: the last is returned, the others wait in the queue."""
    if text == "ping":
        return "pong"
    asked = message(text)
    operation, responses = asked.get("op"), list[dict[str, Any]]()
    for argument in asked.get("args") or [{}]:
        kind = argument.get("instType") if isinstance(argument, dict) else None
        if operation not in ("subscribe", "unsubscribe") or argument != _argument(str(kind)) or kind not in _TYPES:
            text = f"{operation} {orjson.dumps(argument).decode()} doesn't exist"
            responses.append({"event": "error", "arg": argument, "code": "30001", "msg": text})
            continue
        connection.topics = connection.topics | {kind} if operation == "subscribe" else connection.topics - {kind}
        responses.append({"event": operation, "arg": argument})
    texts = [orjson.dumps(response).decode() for response in responses]
    for earlier in texts[:-1]:
        connection.waiting.put_nowait(earlier)
    return texts[-1] if texts else None


def sockets(app: Sanic[Any, Any], sandbox: Sandbox) -> None:
    """The public socket of the unified API."""
    add_socket(app, sandbox, f"/{HOST}/v3/ws/public", reply)
