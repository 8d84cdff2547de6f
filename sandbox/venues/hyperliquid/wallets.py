"""Simulated Hyperliquid: positions of wallets, their fills, the leaderboard, the stream of the liquidators' fills."""

from collections.abc import Callable
from typing import Any

import numpy as np
import orjson
from sanic import Sanic

from sandbox.derived.wallets import SEATS, Wallets
from sandbox.http.dispatch import Sandbox
from sandbox.http.sockets import add_socket
from sandbox.http.streams import Connection, Frame, message
from sandbox.market.listings.hyperliquid import DEXES
from sandbox.market.noise import Floats, fraction, key, keys, uniform
from sandbox.market.universe import MINUTE_MS
from sandbox.market.world import World
from sandbox.wire.endpoint import Request, Response, json_response
from sandbox.wire.numbers import pointed

API, STATS = "api.hyperliquid.xyz", "stats-data.hyperliquid.xyz"
LARGEST_LEVERAGE = {0: 3, 1: 10, 2: 20, 3: 40}
# The vaults that take over what cannot be closed in the market; their addresses are the venue's own.
LIQUIDATORS = (
    "0x2e3d94f0562703b25c83308a05046ddaf9a8dd14",
    "0xb0a55f13d22f66e6d495ac98113841b2326e9540",
    "0x5e177e5e39c0f4e421f5865a6d8beed8d921cb70",
    "0x2ed5c4484ea3ff8b57d5f2fb152a40d9f2b68308",
    "0x63c621a33714ec48660e32f2374895c8026a3a00",
)
MOST_FILLS, MOST_USERS = 2000, 10
_LATELY_MS = 14 * 1440 * MINUTE_MS
_WINDOWS = {"day": 1.0, "week": 5.0, "month": 18.0, "allTime": 160.0}  # days of full trading


def wallets_of(world: World) -> Wallets:
    """The wallets of the venue; one set for a world."""
    return world.remembered("wallets hyperliquid", 0, lambda _: Wallets(world, "hyperliquid", LARGEST_LEVERAGE), 1)


def taken_over_by(one: dict[str, Any]) -> str:
    """The liquidator of a position."""
    return LIQUIDATORS[key("liquidator", one["seat"], one["cell"]) % len(LIQUIDATORS)]


class HyperliquidWallets:
    """The requests that name a wallet, over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.types: dict[str, Callable[[Request], Response | None]] = {
            "clearinghouseState": self.state,
            "batchClearinghouseStates": self.states,
            "userFills": self.fills,
            "userFillsByTime": self.fills_by_time,
        }

    @property
    def wallets(self) -> Wallets:
        return wallets_of(self.world)

    def _cash(self, wallets: Wallets) -> Floats:
        """USDC outside any position, by wallet: little for most, much for some."""
        series = keys(["cash"], self.world.market.seed, "hyperliquid")
        cash: Floats = 4_000.0 / (uniform(series, np.arange(wallets.count), 1) + 0.0004) ** 1.05
        return cash

    def _state(self, address: str, dex: str, now_ms: int) -> dict[str, Any]:
        wallets, listings = self.wallets, self.world.universe.listings
        number = wallets.number.get(address.lower())
        shown, value, notional, raw, used = [], 0.0, 0.0, 0.0, 0.0
        if number is not None:
            value = float(self._cash(wallets)[number]) if not dex else 0.0
            for one in wallets.open_at(now_ms, number).each():
                listing = listings[one["row"]]
                if listing.group != dex:
                    continue
                sign = 1.0 if one["long"] else -1.0
                mark = wallets.mark(one["row"], now_ms // MINUTE_MS)
                gained = sign * one["size"] * (mark - one["entry"])
                margin = one["size"] * one["entry"] / one["leverage"]
                worth = one["size"] * mark
                value, notional, used = value + margin + gained, notional + worth, used + margin + gained
                raw -= sign * worth
                shown.append({"type": "oneWay", "position": {
                    "coin": listing.symbol, "szi": pointed(sign * one["size"], listing.lot_decimals),
                    "leverage": {"type": "isolated", "value": one["leverage"],
                                 "rawUsd": pointed(margin - sign * one["size"] * one["entry"], 6)},
                    "entryPx": pointed(one["entry"], listing.decimals + 2), "positionValue": pointed(worth, 6),
                    "unrealizedPnl": pointed(gained, 6), "returnOnEquity": pointed(gained / margin, 10),
                    "liquidationPx": pointed(one["liquidation"], 10), "marginUsed": pointed(margin + gained, 6),
                    "maxLeverage": LARGEST_LEVERAGE[listing.index],
                    "cumFunding": {"allTime": pointed(worth * 2e-4, 6), "sinceOpen": pointed(worth * 1e-4, 6),
                                   "sinceChange": pointed(worth * 1e-4, 6)},
                }})  # fmt: skip
        summary = {"accountValue": pointed(value, 10), "totalNtlPos": pointed(notional, 10),
                   "totalRawUsd": pointed(value + raw, 10), "totalMarginUsed": pointed(used, 10)}  # fmt: skip
        return {
            "marginSummary": summary, "crossMarginSummary": summary, "crossMaintenanceMarginUsed": "0.0",
            "withdrawable": pointed(value - used, 10), "assetPositions": shown, "time": now_ms,
        }  # fmt: skip

    def state(self, request: Request) -> Response | None:
        """clearinghouseState of one wallet on one dex."""
        user, dex = request.body.get("user"), request.body.get("dex") or ""
        if not isinstance(user, str):
            return None
        return json_response(self._state(user, dex, request.now_ms), weight=2) if dex in ("", *DEXES) else _NOTHING

    def states(self, request: Request) -> Response | None:
        """batchClearinghouseStates: the same in the order of the request, without the addresses."""
        users, dex = request.body.get("users"), request.body.get("dex") or ""
        if not isinstance(users, list) or not all(isinstance(user, str) for user in users):
            return None
        if dex not in ("", *DEXES):
            return _NOTHING
        return json_response([self._state(user, dex, request.now_ms) for user in users], weight=20)

    def fills(self, request: Request) -> Response | None:
        """userFills: the newest, newest first."""
        if not isinstance(user := request.body.get("user"), str):
            return None
        found = self.fills_of(user.lower(), request.now_ms - _LATELY_MS, request.now_ms)[::-1][:MOST_FILLS]
        return json_response(found, weight=20 + len(found) // 20)

    def fills_by_time(self, request: Request) -> Response | None:
        """userFillsByTime: oldest first from a time."""
        user, start = request.body.get("user"), request.body.get("startTime")
        end = request.body.get("endTime") or request.now_ms
        if not isinstance(user, str) or not isinstance(start, int) or not isinstance(end, int):
            return None
        found = self.fills_of(user.lower(), start, min(end, request.now_ms))[:MOST_FILLS]
        return json_response(found, weight=20 + len(found) // 20)

    def fills_of(self, address: str, start_ms: int, end_ms: int) -> list[dict[str, Any]]:
        """The fills of a wallet or a liquidator within a span, oldest first."""
        wallets, out = self.wallets, list[dict[str, Any]]()
        if address in LIQUIDATORS:
            # Of what the seats hold now: some days' worth, which is what a liquidator's newest fills are.
            held = wallets.cells_at(end_ms // MINUTE_MS)
            for one in held.where(held.liquidated & held.backstop & (held.closed_ms <= end_ms)).each():
                if one["closed_ms"] >= start_ms and taken_over_by(one) == address:
                    out.append(self.fill(one, "taken"))
        elif (number := wallets.number.get(address)) is not None:
            for one in wallets.between(start_ms, end_ms, number).each():
                out += [self.fill(one, part) for part in ("opened", "closed")
                        if start_ms <= one[f"{part}_ms"] <= end_ms]  # fmt: skip
        return sorted(out, key=lambda fill: (fill["time"], fill["tid"]))

    def fill(self, one: dict[str, Any], part: str) -> dict[str, Any]:
        """One fill: of the opening, of the end, or with `taken` of the end as the liquidator's fill."""
        wallets, listing = self.wallets, self.world.universe.listings[one["row"]]
        opens = part == "opened"
        at = one["opened_ms"] if opens else one["closed_ms"]
        mark = wallets.mark(one["row"], at // MINUTE_MS)
        price, sign = one["entry"] if opens else mark, 1.0 if one["long"] else -1.0
        side = "Long" if one["long"] else "Short"
        size, before = pointed(one["size"], listing.lot_decimals), 0.0 if opens or part == "taken" else one["size"]
        shown: dict[str, Any] = {
            "coin": listing.symbol, "px": pointed(price, listing.decimals), "sz": size,
            "side": "B" if one["long"] == (opens or part == "taken") else "A", "time": at,
            "startPosition": pointed(sign * before, listing.lot_decimals),
            "dir": f"{'Close' if part == 'closed' else 'Open'} {side}",
            "closedPnl": pointed(0.0 if before == 0.0 else sign * one["size"] * (mark - one["entry"]), 6),
            "hash": f"0x{key('hash', one['seat'], one['cell'], opens):064x}",
            "oid": key("oid", one["seat"], one["cell"], part) % 10**11, "crossed": part != "taken",
            "fee": pointed(0.0 if part == "taken" else one["size"] * price * 3.5e-4, 6),
            "tid": key("tid", one["seat"], one["cell"], opens) % 10**15, "feeToken": "USDC", "twapId": None,
        }  # fmt: skip
        if one["liquidated"] and not opens:
            shown["liquidation"] = {
                "liquidatedUser": wallets.owner(one["seat"]), "markPx": pointed(mark, listing.decimals),
                "method": "backstop" if one["backstop"] else "market",
            }  # fmt: skip
        return shown

    def leaderboard(self, request: Request) -> Response:
        """GET the leaderboard: every wallet that ever traded much, in no order that could be relied on."""
        body = self.world.remembered("hyperliquid leaderboard", request.now_ms // 3_600_000, self._leaderboard, 1)
        return Response(body)

    def _leaderboard(self, hour: int) -> bytes:
        wallets, now_ms = self.wallets, hour * 3_600_000
        held = wallets.open_at(now_ms)
        sign = np.where(held.long, 1.0, -1.0)
        margin = held.size * held.entry / held.leverage
        at = np.searchsorted(np.sort(wallets.rows), held.row)
        marks = np.exp(wallets.marks(now_ms // MINUTE_MS // 1440)[:, now_ms // MINUTE_MS % 1440])
        gained = sign * held.size * (marks[np.argsort(wallets.rows)][at] - held.entry)
        owner, count = held.seat // SEATS, wallets.count
        values = self._cash(wallets) + np.bincount(owner, margin + gained, count)
        notional = np.bincount(owner, held.size * held.entry, count)
        gains = np.bincount(owner, gained, count)
        rows = []
        for n, (value, worth, gain) in enumerate(zip(values.tolist(), notional.tolist(), gains.tolist(), strict=True)):
            busy = 0.3 + 1.4 * fraction("busy", n)
            named = fraction("named", n)
            rows.append({
                "ethAddress": wallets.address[n], "accountValue": f"{value:.10f}",
                "windowPerformances": [
                    [name, {"pnl": f"{gain * days * 0.3:.10f}", "roi": f"{gain * days * 0.3 / max(value, 1.0):.10f}",
                            "vlm": f"{worth * days * busy:.10f}"}]
                    for name, days in _WINDOWS.items()
                ],
                "prize": 0, "displayName": None if named < 0.9 else f'the {{"ethAddress":}} of "{n}"',
            })  # fmt: skip
        return orjson.dumps({"leaderboardRows": rows})


_NOTHING = Response(b"null", 500)


def annotations(world: World, now_ms: int) -> list[list[Any]]:
    """[coin, what it is] of the builders' coins."""
    listings, assets = world.universe.listings, {one.name: one for one in world.universe.assets}
    out: list[list[Any]] = []
    for row in world.universe.rows("hyperliquid", "perp").tolist():
        one = listings[row]
        if not one.group or one.listed_ms > now_ms:
            continue
        asset = assets[one.coin]
        note: dict[str, Any] = {"category": asset.category if asset.kind == "stock" else "crypto"}
        if fraction("annotated", one.symbol) < 0.5:
            note |= {"displayName": asset.name, "keywords": [asset.name.lower(), note["category"]]}
        out.append([one.symbol, note])
    return out


def frames(world: World, minute: int) -> list[Frame]:
    """What the liquidators take over, a moment later."""
    responses = HyperliquidWallets(world)
    found = wallets_of(world).liquidated_in(minute)
    out: list[Frame] = []
    for one in found.where(found.backstop).each():
        user = taken_over_by(one)
        text = {"channel": "userFills", "data": {"user": user, "fills": [responses.fill(one, "taken")]}}
        out.append((one["closed_ms"] + 300, user, orjson.dumps(text)))
    return out


def _reply(sandbox: Sandbox, connection: Connection, text: str) -> str:
    """pong, or the confirmation of a subscription; a new one is sent the user's newest fills."""
    asked = message(text)
    method, wanted = asked.get("method"), asked.get("subscription")
    if method == "ping":
        return '{"channel":"pong"}'
    user = wanted.get("user") if isinstance(wanted, dict) and wanted.get("type") == "userFills" else None
    if method not in ("subscribe", "unsubscribe") or not isinstance(user, str):
        return _error(f"Error parsing JSON into valid websocket request: {text}")
    user = user.lower()
    if method == "unsubscribe":
        connection.topics.discard(user)
    else:
        if len(connection.topics | {user}) > MOST_USERS:
            return _error(f"Cannot track more than {MOST_USERS} total users.")
        connection.topics.add(user)
        assert sandbox.world is not None
        now_ms = sandbox.clock.now_ms()
        found = HyperliquidWallets(sandbox.world).fills_of(user, now_ms - _LATELY_MS, now_ms)[::-1][:MOST_FILLS]
        snapshot = {"channel": "userFills", "data": {"isSnapshot": True, "user": user, "fills": found}}
        connection.waiting.put_nowait(orjson.dumps(snapshot).decode())
    return orjson.dumps({"channel": "subscriptionResponse", "data": asked}).decode()


def _error(text: str) -> str:
    return orjson.dumps({"channel": "error", "data": text}).decode()


def topic(frame: dict[str, Any]) -> str | None:
    """The user that a frame is for."""
    data = frame.get("data")
    return str(data["user"]) if frame.get("channel") == "userFills" and isinstance(data, dict) else None


def sockets(app: Sanic[Any, Any], sandbox: Sandbox) -> None:
    """The one socket of the venue."""
    add_socket(app, sandbox, f"/{API}/ws", lambda connection, text: _reply(sandbox, connection, text))
