"""Bybit's allLiquidation topics: the frames, and the WebSocket where they are subscribed to."""

from typing import Any

import orjson
from sanic import Sanic

from sandbox.http.dispatch import Sandbox
from sandbox.http.sockets import add_socket
from sandbox.http.streams import Connection, Frame, Liquidation, liquidations_of, message
from sandbox.market.world import World

HOST = "stream.bybit.com"
_WINDOW_MS = 500
_LONGEST_ARGS = 21_000  # characters in one args message


def frames(world: World, minute: int) -> list[Frame]:
    """All events of a symbol, pushed every 500 ms; S is the side of the position."""
    pushed: dict[tuple[int, str], list[dict[str, object]]] = {}
    for event in liquidations_of(world, "bybit", minute):
        due = (event.ts // _WINDOW_MS + 1) * _WINDOW_MS
        symbol = event.listing.symbol
        pushed.setdefault((due, symbol), []).append({
            "T": event.ts, "s": symbol, "S": "Buy" if event.long else "Sell",
            "v": _size(world, event), "p": world.price_format[event.row] % event.price,
        })  # fmt: skip
    out = []
    for (due, symbol), data in sorted(pushed.items()):
        topic = f"allLiquidation.{symbol}"
        out.append((due, topic, orjson.dumps({"topic": topic, "type": "snapshot", "ts": due, "data": data})))
    return out


def _size(world: World, event: Liquidation) -> str:
    """Coins, or USD of an inverse contract."""
    if event.listing.inverse:
        return f"{event.size * event.price:.0f}"
    return world.lot_format[event.row] % event.size


def topic(frame: dict[str, Any]) -> str | None:
    """The topic of a frame; responses to a client have none."""
    found = frame.get("topic")
    return None if found is None else str(found)


def reply(connection: Connection, text: str) -> str:
    """The response to ping, subscribe and unsubscribe."""
    asked = message(text)
    operation = asked.get("op")
    response: dict[str, Any] = {"success": True, "ret_msg": "", "conn_id": connection.id,
                              "req_id": asked.get("req_id", ""), "op": operation}  # fmt: skip
    if operation == "ping":
        response["ret_msg"] = "pong"
    elif operation not in ("subscribe", "unsubscribe"):
        response |= {"success": False, "ret_msg": f"error:unknown op {operation!r}"}
    else:
        topics = {str(name) for name in asked.get("args") or []}
        wrong = sorted(name for name in topics if "." not in name)
        if wrong:
            response |= {"success": False, "ret_msg": f"error:handler not found,topic:{wrong[0]}"}
        elif len(orjson.dumps(asked.get("args"))) > _LONGEST_ARGS:
            response |= {"success": False, "ret_msg": "args size exceeds 21000"}
        elif operation == "subscribe":
            connection.topics |= topics
        else:
            connection.topics -= topics
    return orjson.dumps(response).decode()


def sockets(app: Sanic[Any, Any], sandbox: Sandbox) -> None:
    """The sockets of the linear and the inverse category."""
    add_socket(app, sandbox, f"/{HOST}/v5/public/linear", reply)
    add_socket(app, sandbox, f"/{HOST}/v5/public/inverse", reply)
