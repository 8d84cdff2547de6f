"""OKX's liquidation-orders channel: the frames, and the public WebSocket where it is subscribed to."""

from typing import Any

import orjson
from sanic import Sanic

from sandbox.http.dispatch import Sandbox
from sandbox.http.sockets import add_socket
from sandbox.http.streams import Connection, Frame, liquidations_of, message
from sandbox.market.noise import fraction
from sandbox.market.world import World
from sandbox.venues.okx.market import contracts
from sandbox.wire.numbers import trimmed

HOST = "ws.okx.com:8443"
WINDOW_MS = 1000  # of one contract only the latest order in a second is shown
_CHANNEL, _SWAPS = "liquidation-orders", "liquidation-orders:SWAP"
_NET_MODE = 0.3  # share of accounts whose positions have no side


def frames(world: World, minute: int) -> list[Frame]:
    """One frame per order; an account in net mode names the side of the order alone."""
    out = []
    for event in liquidations_of(world, "okx", minute, WINDOW_MS):
        one = event.listing
        net = fraction("net mode", one.symbol, event.ts) < _NET_MODE
        count = contracts(one, event.size, event.size * event.price)
        size = str(max(1, round(count))) if one.inverse else trimmed(count, 2)
        family = one.symbol.removesuffix("-SWAP")
        details = {"bkLoss": "0", "bkPx": trimmed(event.price, one.decimals), "ccy": "",
                   "posSide": "net" if net else "long" if event.long else "short",
                   "side": "sell" if event.long else "buy",
                   "sz": size, "ts": str(event.ts)}  # fmt: skip
        data = [{"details": [details], "instFamily": family, "instId": one.symbol, "instType": "SWAP", "uly": family}]
        due = (event.ts // WINDOW_MS + 1) * WINDOW_MS
        out.append((due, _SWAPS, orjson.dumps({"arg": {"channel": _CHANNEL, "instType": "SWAP"}, "data": data})))
    return sorted(out, key=lambda frame: frame[0])


def topic(frame: Any) -> str | None:
    """The channel and kind of a frame with data; responses to a client have none."""
    if not isinstance(frame, dict) or "data" not in frame:
        return None
    argument = frame.get("arg") or {}
    return f"{argument.get('channel')}:{argument.get('instType')}"


def reply(connection: Connection, text: str) -> str:
    """`pong`, or one response per argument of a subscription: the last is returned, the others wait in the queue."""
    if text == "ping":
        return "pong"
    asked = message(text)
    operation, arguments = asked.get("op"), asked.get("args")
    known = operation in ("subscribe", "unsubscribe") and isinstance(arguments, list) and arguments
    if not known or not all(isinstance(one, dict) for one in arguments or []):
        return _error("60012", f"Illegal request: {text}", connection)
    responses = []
    for argument in arguments or []:
        name = f"{argument.get('channel')}:{argument.get('instType')}"
        if argument.get("channel") != _CHANNEL or argument.get("instType") not in (
            "SWAP",
            "FUTURES",
            "MARGIN",
            "OPTION",
        ):
            named = ",".join(f"{key}:{value}" for key, value in argument.items())
            responses.append(_error("60018", f"Wrong URL or {named} doesn't exist.", connection))
            continue
        connection.topics = connection.topics | {name} if operation == "subscribe" else connection.topics - {name}
        # What else was asked for is ignored: the channel is that of all instruments of a kind.
        shown = {"channel": _CHANNEL, "instType": argument["instType"]}
        responses.append(orjson.dumps({"event": operation, "arg": shown, "connId": connection.id[:8]}).decode())
    for earlier in responses[:-1]:
        connection.waiting.put_nowait(earlier)
    return responses[-1]


def _error(code: str, text: str, connection: Connection) -> str:
    return orjson.dumps({"event": "error", "code": code, "msg": text, "connId": connection.id[:8]}).decode()


def sockets(app: Sanic[Any, Any], sandbox: Sandbox) -> None:
    """The public socket."""
    add_socket(app, sandbox, "/<host:str>/ws/v5/public", reply)
