"""Lighter's trade channels: ordinary trades and liquidations, and the WebSocket where they are subscribed to."""

from typing import Any

import numpy as np
import orjson
from sanic import Sanic

from sandbox.http.dispatch import Sandbox
from sandbox.http.sockets import add_socket
from sandbox.http.streams import Connection, Frame, liquidations_of, message
from sandbox.market.derivatives import liquidations
from sandbox.market.noise import fraction
from sandbox.market.world import World
from sandbox.venues.lighter.market import HOST

MESSAGES = "lighter_messages"
"""The pool of what clients send; the venue counts by address."""
MOST_CHANNELS = 100  # of one connection
_OLD_LIQUIDATIONS, _LONGEST_SEARCH = 5, 30  # in the response to a subscription: events, minutes


def trade(world: World, row: int, kind: str, ts: int, size: float, price: float, maker_asks: bool) -> dict[str, Any]:
    """One trade as the channel shows it."""
    one = world.universe.listings[row]
    number = ts * 100 + one.index % 100
    ask, bid = 281_474_976_710_656 + number, 562_949_953_421_312 + number
    shown: dict[str, Any] = {
        "trade_id": number, "trade_id_str": str(number), "tx_hash": f"{number:080x}", "type": kind,
        "market_id": one.index, "size": world.lot_format[row] % size, "price": world.price_format[row] % price,
        "usd_amount": f"{size * price:.6f}", "ask_id": ask, "ask_id_str": str(ask), "bid_id": bid,
        "bid_id_str": str(bid), "ask_client_id": 0, "ask_client_id_str": "0", "bid_client_id": 0,
        "bid_client_id_str": "0", "ask_account_id": number % 90_000, "bid_account_id": number % 70_000,
        "is_maker_ask": maker_asks, "block_height": ts // 800, "timestamp": ts,
        "taker_position_size_before": world.lot_format[row] % (-size if maker_asks else size),
        "taker_entry_quote_before": f"{size * price:.6f}", "taker_initial_margin_fraction_before": 200,
        "maker_fee": 38, "maker_position_size_before": "0", "maker_entry_quote_before": "0.000000",
        "maker_initial_margin_fraction_before": 500, "transaction_time": ts * 1000 + 53_000,
    }  # fmt: skip
    if kind == "liquidation":
        # Isolated positions have accounts of their own, with great numbers.
        shown |= {
            "ask_account_id": ask,
            "bid_account_id": ask - 1,
            "taker_fee": 10_000,
            "taker_position_sign_changed": True,
            "taker_allocated_margin_usdc_before": 25_585_360,
        }
    return shown


def _frame(kind: str, market: int, ts: int, trades: list[Any], liquidations: list[Any]) -> dict[str, Any]:
    return {"type": f"{kind}/trade", "channel": f"trade:{market}", "nonce": ts // 100, "trades": trades,
            "liquidation_trades": liquidations}  # fmt: skip


def _liquidated(world: World, minute: int) -> list[tuple[int, dict[str, Any]]]:
    """(row, trade) of the minute's liquidations: a long is sold off, so its maker bids."""
    return [
        (event.row, trade(world, event.row, "liquidation", event.ts, event.size, event.price, not event.long))
        for event in liquidations_of(world, "lighter", minute)
    ]


def frames(world: World, minute: int) -> list[Frame]:
    """Every liquidation, and of the ordinary trades of each market one in a minute."""
    out: list[Frame] = []
    state = world.minute(minute)
    for row in world.universe.rows("lighter", "perp").tolist():
        if not state.listed[row]:
            continue
        one = world.universe.listings[row]
        ts = minute * 60_000 + int(fraction("trade", one.id, minute) * 59_000)
        size = max(float(state.base_24h[row]) / max(int(state.trades_24h[row]), 1), 10.0**-one.lot_decimals)
        shown = trade(world, row, "trade", ts, size, float(state.mark[row]), fraction("maker", one.id, minute) < 0.5)
        out.append((ts + 50, f"trade:{one.index}", orjson.dumps(_frame("update", one.index, ts, [shown], []))))
    for _, shown in _liquidated(world, minute):
        market, ts = shown["market_id"], shown["timestamp"]
        out.append((ts + 50, f"trade:{market}", orjson.dumps(_frame("update", market, ts, [], [shown]))))
    return sorted(out, key=lambda frame: frame[0])


def topic(frame: dict[str, Any]) -> str | None:
    """The channel of a frame; responses to a client have none."""
    found = frame.get("channel")
    return None if found is None else str(found)


def _error(code: int, text: str) -> str:
    return orjson.dumps({"error": {"code": code, "message": text}}).decode()


class Channels:
    """How a client's messages are answered; without a sandbox (a replay) every market is known and none has trades."""

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        self._sandbox = sandbox
        self._world = sandbox.world if sandbox else None
        rows = self._world.universe.rows("lighter", "perp", "spot").tolist() if self._world else []
        listings = self._world.universe.listings if self._world else ()
        self._rows = {listings[row].index: row for row in rows}

    def __call__(self, connection: Connection, text: str) -> str:
        """The responses to ping, subscribe and unsubscribe; a subscription is answered with old trades."""
        asked = message(text)
        if self._sandbox and self._too_many(self._sandbox):
            return _error(30009, "Too Many Websocket Messages!")
        kind, channel = asked.get("type"), str(asked.get("channel", ""))
        if kind == "ping":
            return '{"type":"pong"}'
        if kind not in ("subscribe", "unsubscribe"):
            return _error(30002, f"Invalid Type: {kind}")
        name, _, number = channel.partition("/")
        if name != "trade" or not number.isdecimal() or (self._world and int(number) not in self._rows):
            return _error(30005, f"Invalid Channel: ({channel})")
        topic = f"trade:{number}"
        if kind == "unsubscribe":
            connection.topics.discard(topic)
            return orjson.dumps({"type": "unsubscribed", "channel": topic}).decode()
        if topic in connection.topics:
            return _error(30003, f"Already Subscribed: {channel}")
        if len(connection.topics) >= MOST_CHANNELS:
            return _error(30004, "Too Many Subscriptions!")
        connection.topics.add(topic)
        now_ms = self._sandbox.clock.now_ms() if self._sandbox else 0
        old = _old(self._world, self._rows[int(number)], now_ms // 60_000) if self._world else []
        return orjson.dumps(_frame("subscribed", int(number), now_ms, [], old)).decode()

    def _too_many(self, sandbox: Sandbox) -> bool:
        now_ms = sandbox.clock.now_ms()
        if sandbox.limits.exceeded(MESSAGES, "", now_ms) is not None:
            return True
        sandbox.limits.charge(MESSAGES, "", now_ms, 1)
        return False


def _old(world: World, row: int, minute: int) -> list[dict[str, Any]]:
    """A market's latest liquidations before this minute; of this market alone, for all of them are asked about."""
    found = liquidations(world.market, np.array([row]), np.arange(minute - _LONGEST_SEARCH, minute))
    columns = (found.ts, found.size, found.price, found.long)
    events = zip(*(column[::-1][:_OLD_LIQUIDATIONS].tolist() for column in columns), strict=True)
    return [trade(world, row, "liquidation", ts, size, price, not long) for ts, size, price, long in events]


def sockets(app: Sanic[Any, Any], sandbox: Sandbox) -> None:
    """The one socket."""
    add_socket(app, sandbox, f"/{HOST}/stream", Channels(sandbox), {"session_id": "0198f4", "type": "connected"})
