"""The sandbox's own paths: `/_sandbox/health`, `faults`, `clock`, `markets` and `truth`."""

from typing import Any

import orjson
from sanic import Sanic
from sanic.request import Request
from sanic.response import HTTPResponse

from sandbox.derived.truth import truth
from sandbox.http.dispatch import Sandbox
from sandbox.market.universe import MINUTE_MS


def _json(value: Any, status: int = 200) -> HTTPResponse:
    return HTTPResponse(orjson.dumps(value), status, content_type="application/json")


def _wrong(text: str, status: int = 400) -> HTTPResponse:
    return _json({"error": text}, status)


def _body(request: Request[Any, Any]) -> Any:
    try:
        return orjson.loads(request.body)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"the body is not JSON ({error})") from None


def add_routes(app: Sanic[Any, Any], sandbox: Sandbox, mode: str) -> None:
    """Register the admin paths."""

    async def health(request: Request[Any, Any]) -> HTTPResponse:
        world = sandbox.world
        markets = 0 if world is None else int(world.minute(sandbox.clock.now_ms() // MINUTE_MS).listed.sum())
        return _json({
            "mode": mode, "clock": sandbox.clock.shown(), "universe": world.universe.name if world else None,
            "seed": world.market.seed if world else None, "markets": markets,
            "recordings": len(sandbox.replay.responses) if sandbox.replay else 0,
            "connections": [{"venue": one.venue, "path": one.path, "topics": len(one.topics)}
                            for one in sandbox.hub.connections],
            "faults": len(sandbox.faults.active),
        })  # fmt: skip

    async def faults(request: Request[Any, Any]) -> HTTPResponse:
        if request.method == "POST":
            try:
                fault = sandbox.faults.add(_body(request))
            except ValueError as error:
                return _wrong(str(error))
            if fault.kind in ("outage", "ws_drop"):
                sandbox.hub.drop(lambda one: fault.venue in (one.venue, "*") and one.path.startswith(fault.path))
            return _json(fault.shown(), 201)
        if request.method == "DELETE":
            identity = request.args.get("id")
            if identity is not None and not identity.isdigit():
                return _wrong(f"id must be a whole number, not {identity!r}")
            return _json({"removed": sandbox.faults.remove(int(identity) if identity else None)})
        return _json({"faults": [fault.shown() for fault in sandbox.faults.active]})

    async def clock(request: Request[Any, Any]) -> HTTPResponse:
        if request.method == "POST":
            try:
                wanted = _body(request)
                sandbox.clock.set(wanted if isinstance(wanted, dict) else {})
                sandbox.hub.follow()  # at once: a second jump may come before the next pulse
            except ValueError as error:
                return _wrong(str(error))
        return _json(sandbox.clock.shown())

    async def markets(request: Request[Any, Any]) -> HTTPResponse:
        if sandbox.world is None:
            return _wrong("a replay has no simulated markets", 404)
        venue = request.args.get("venue")
        return _json({"markets": [
            {"venue": one.venue, "type": one.type, "symbol": one.symbol, "coin": one.coin, "base_raw": one.base_raw,
             "quote": one.quote, "units": one.units, "listed_ms": one.listed_ms, "delisted_ms": one.delisted_ms,
             "intervals": one.intervals, "dex": one.group}
            for one in sandbox.world.universe.listings if venue in (None, one.venue)
        ]})  # fmt: skip

    async def true_minutes(request: Request[Any, Any]) -> HTTPResponse:
        if sandbox.world is None:
            return _wrong("a replay has no simulated truth", 404)
        asked = {name: request.args.get(name) or "" for name in ("venue", "type", "symbol", "from", "to")}
        if missing := [name for name, value in asked.items() if not value]:
            return _wrong(f"truth needs venue, type, symbol, from and to (ms); missing: {', '.join(missing)}")
        if not (asked["from"].isdigit() and asked["to"].isdigit()):
            return _wrong("from and to must be whole milliseconds")
        try:
            simulated = sandbox.venues[asked["venue"]]
            holders = simulated.holders(sandbox.world) if simulated.holders else None
            found = truth(sandbox.world, asked["venue"], asked["type"], asked["symbol"], int(asked["from"]),
                          int(asked["to"]), simulated.liquidation_window_ms, holders)  # fmt: skip
        except KeyError:
            return _wrong(f"unknown market {asked['venue']}:{asked['type']}:{asked['symbol']}", 404)
        except ValueError as error:
            return _wrong(str(error))
        return _json(found)

    app.add_route(health, "/_sandbox/health")
    app.add_route(faults, "/_sandbox/faults", methods=["GET", "POST", "DELETE"])
    app.add_route(clock, "/_sandbox/clock", methods=["GET", "POST"])
    app.add_route(markets, "/_sandbox/markets")
    app.add_route(true_minutes, "/_sandbox/truth")
