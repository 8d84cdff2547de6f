"""Simulated Deribit: summaries, contracts and indices of its options, settled in the coin or in USDC."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isnan
from typing import Any

from sandbox.derived.chain import Chain, chain, expiry_name
from sandbox.http.limits import Pool, Use
from sandbox.http.simulated_venue import SimulatedVenue
from sandbox.market.noise import key
from sandbox.market.world import World
from sandbox.wire.endpoint import Endpoint, Request, Response, json_response

HOST = "www.deribit.com"
# What is held in all, coins
HELD = {"BTC": 390_000.0, "ETH": 2_900_000.0}
HELD_LINEAR = {"BTC": 14_000.0, "ETH": 260_000.0, "XRP": 90_000_000.0}
MINUTE_MS, DAY_MS = 60_000, 86_400_000


@dataclass(frozen=True, slots=True)
class Option:
    """One option as the venue shows it; prices in its own currency."""

    name: str
    coin: str
    currency: str
    expiry_ms: int
    listed_ms: int
    strike: float
    call: bool
    forward: float
    index: float
    mark_iv: float
    mark: float
    bid: float | None
    ask: float | None
    open_interest: float
    volume: float
    tick: float


def options(of: Chain, linear: bool) -> Iterator[Option]:
    """The options of a chain; linear ones are priced in USDC, the others in the coin, at the expiry's forward."""
    under, currency = (f"{of.coin}_USDC", "USDC") if linear else (of.coin, of.coin)
    columns = (of.expiry_ms, of.listed_ms, of.strike, of.call, of.forward, of.mark_iv, of.bid_iv, of.ask_iv, of.price,
               of.vega, of.open_interest, of.volume_24h)  # fmt: skip
    for row in zip(*(column.tolist() for column in columns), strict=True):
        expiry, listed, strike, call, forward, iv, bid_iv, ask_iv, price, vega, held, traded = row
        per = 1.0 if linear else forward
        tick = 10.0 ** (len(f"{forward:.0f}") - 5) if linear else 0.0001
        # Vega is per point: a quote is as far from the mark as its volatility.
        bid = _on_tick((price - vega * 100 * (iv - bid_iv)) / per, tick, False)
        ask = _on_tick((price + vega * 100 * (ask_iv - iv)) / per, tick, True)
        text = f"{strike:.10g}".replace(".", "d")
        name = f"{under}-{expiry_name(expiry)}-{text}-{'C' if call else 'P'}"
        size = 1.0 if of.coin == "XRP" else 0.1
        yield Option(
            name, of.coin, currency, expiry, listed, strike, call, forward, of.index, iv, max(price, 0.0) / per, bid,
            ask, round(held / size) * size, round(traded / size) * size, tick,
        )  # fmt: skip


def _on_tick(price: float, tick: float, up: bool) -> float | None:
    """The price rounded to the tick; None for a bid below one tick."""
    if isnan(price):
        return None
    ticks = -int(-price // tick) if up else int(price // tick)
    return round(max(ticks, 1) * tick, 8) if up or ticks >= 1 else None


class Deribit:
    """The endpoints over one world."""

    def __init__(self, world: World) -> None:
        self.world = world

    def options(self, currency: str, now_ms: int) -> list[Option] | None:
        """All options that are settled in a currency; None for a currency without any."""
        minute = now_ms // MINUTE_MS
        if currency in HELD:
            return list(options(chain(self.world, "deribit", currency, minute, HELD[currency]), linear=False))
        if currency != "USDC":
            return None
        found: list[Option] = []
        for coin, held in HELD_LINEAR.items():
            found += options(chain(self.world, "deribit linear", coin, minute, held), linear=True)
        return found

    def summaries(self, request: Request) -> Response:
        """get_book_summary_by_currency."""
        found = self._asked(request)
        if isinstance(found, Response):
            return found
        return result([_summary(one, request.now_ms) for one in found], request.now_ms)

    def instruments(self, request: Request) -> Response:
        """get_instruments; expired ones are not kept."""
        found = self._asked(request)
        if isinstance(found, Response):
            return found
        if request.query.get("expired", "false") == "true":
            found = []
        return result([_instrument(one) for one in found], request.now_ms)

    def index_price(self, request: Request) -> Response:
        """get_index_price."""
        coin, _, quote = request.query.get("index_name", "").partition("_")
        if coin.upper() not in HELD_LINEAR or quote not in ("usd", "usdc"):
            return failure("index_name", "unknown index", request.now_ms)
        minute = request.now_ms // MINUTE_MS
        index = round(chain(self.world, "deribit linear", coin.upper(), minute, HELD_LINEAR[coin.upper()]).index, 4)
        return result({"index_price": index, "estimated_delivery_price": index}, request.now_ms)

    def _asked(self, request: Request) -> list[Option] | Response:
        if request.query.get("kind", "option") != "option":
            return failure("kind", "only options are simulated", request.now_ms)
        found = self.options(request.query.get("currency", "").upper(), request.now_ms)
        return found if found is not None else failure("currency", "unknown currency", request.now_ms)


def _summary(one: Option, now_ms: int) -> dict[str, Any]:
    dated = expiry_name(one.expiry_ms)
    friday = datetime.fromtimestamp(one.expiry_ms / 1000, UTC).weekday() == 4
    under = one.name.split("-")[0]
    mark = round(one.mark, 8 if one.currency != "USDC" else 4)
    traded = one.volume > 0
    last = round(max(one.mark, one.tick), 4) if traded or one.open_interest > 0 else None
    return {
        "mid_price": round((one.bid + one.ask) / 2, 8) if one.bid and one.ask else None,
        "estimated_delivery_price": round(one.index, 2),
        "volume_usd": round(one.volume * one.mark * (one.forward if one.currency != "USDC" else 1.0), 2),
        "quote_currency": one.currency, "creation_timestamp": now_ms, "base_currency": one.coin, "interest_rate": 0.0,
        "volume": round(one.volume, 4), "underlying_index": f"{under}-{dated}" if friday else f"SYN.{under}-{dated}",
        "underlying_price": round(one.forward, 4), "price_change": 0.0 if traded else None, "mark_price": mark,
        "mark_iv": round(one.mark_iv * 100, 2), "open_interest": round(one.open_interest, 4), "ask_price": one.ask,
        "bid_price": one.bid, "instrument_name": one.name, "last": last, "low": last if traded else None,
        "high": last if traded else None,
    }  # fmt: skip


def _instrument(one: Option) -> dict[str, Any]:
    linear = one.currency == "USDC"
    days = (one.expiry_ms - one.listed_ms) // DAY_MS
    return {
        "price_index": f"{one.coin.lower()}_{'usdc' if linear else 'usd'}", "kind": "option",
        "instrument_name": one.name, "option_type": "call" if one.call else "put", "strike": one.strike,
        "max_leverage": 1, "maker_commission": 0.0003, "taker_commission": 0.0003,
        "instrument_type": "linear" if linear else "reversed", "expiration_timestamp": one.expiry_ms,
        "creation_timestamp": one.listed_ms, "is_active": True, "tick_size": one.tick, "contract_size": 1.0,
        "instrument_id": key("deribit", one.name) % 900_000, "min_trade_amount": 0.1,
        "max_liquidation_commission": 0.0075, "block_trade_commission": 0.00025, "block_trade_min_trade_amount": 25,
        "block_trade_tick_size": 0.0001, "settlement_currency": one.currency,
        "settlement_period": "day" if days <= 2 else "week" if days <= 28 else "month", "base_currency": one.coin,
        "counter_currency": "USDC" if linear else "USD", "quote_currency": one.currency, "tick_size_steps": [],
    }  # fmt: skip


def result(value: Any, now_ms: int) -> Response:
    """A result in the envelope of JSON-RPC."""
    times = {"usIn": now_ms * 1000, "usOut": now_ms * 1000 + 420, "usDiff": 420}
    return json_response({"jsonrpc": "2.0", "result": value, **times, "testnet": False})


def failure(parameter: str, reason: str, now_ms: int) -> Response:
    """A refused parameter."""
    times = {"usIn": now_ms * 1000, "usOut": now_ms * 1000 + 90, "usDiff": 90}
    error = {"code": -32602, "message": "Invalid params", "data": {"reason": reason, "param": parameter}}
    return json_response({"jsonrpc": "2.0", "error": error, **times, "testnet": False}, 400)


def endpoints(world: World) -> list[Endpoint]:
    """The endpoints of Deribit."""
    deribit = Deribit(world)
    return [
        Endpoint("deribit", HOST, "/api/v2/public/get_book_summary_by_currency", deribit.summaries, "deribit"),
        Endpoint("deribit", HOST, "/api/v2/public/get_instruments", deribit.instruments, "deribit"),
        Endpoint("deribit", HOST, "/api/v2/public/get_index_price", deribit.index_price, "deribit"),
    ]


def refusal(use: Use, pool: Pool, now_ms: int) -> Response:
    """429 until there is credit again."""
    error = {"code": 10028, "message": "too_many_requests"}
    return json_response({"jsonrpc": "2.0", "error": error, "testnet": False}, 429)


SIMULATED = SimulatedVenue(
    venue="deribit",
    hosts=(HOST,),
    pools={"deribit": Pool(20, 1_000)},
    endpoints=endpoints,
    refusal=refusal,
)
