"""Lighter on the wire: the market list, funding rates, candles and fundings."""

from typing import Any

import numpy as np

from sandbox.market.listing import Listing
from sandbox.market.world import World
from sandbox.wire.candles import INTERVALS, candles
from sandbox.wire.endpoint import Endpoint, Request, Response, json_response
from sandbox.wire.numbers import whole
from sandbox.wire.settlements import settlements

HOST = "mainnet.zklighter.elliot.ai"
MOST_CANDLES, MOST_FUNDINGS = 500, 750
_STEPS = {name: minutes for name, minutes in INTERVALS.items() if name in ("1m", "5m", "15m", "30m", "1h", "4h", "1d")}
_OTHERS = ("binance", "bybit", "hyperliquid")


def failure(message: str) -> Response:
    """An error body as Lighter writes it."""
    return json_response({"code": 20001, "message": f"invalid param : {message}"}, 400)


def percent(rate: float) -> float:
    """A rate per hour as the venue holds it: percent with four decimals."""
    return round(rate * 100, 4)


def _terms(one: Listing, now_ms: int, perp: bool) -> dict[str, Any]:
    return {
        "symbol": one.symbol, "market_id": one.index, "market_type": "perp" if perp else "spot",
        "base_asset_id": 0 if perp else one.index - 2047, "quote_asset_id": 0 if perp else 3,
        "status": "active" if now_ms < one.delisted_ms else "inactive",
        "taker_fee": "0.0000", "is_taker_fee_enabled": True, "maker_fee": "0.0000", "is_maker_fee_enabled": True,
        "liquidation_fee": "1.0000" if perp else "0.0000",
        "min_base_amount": f"{10.0**-one.lot_decimals * 10:.{one.lot_decimals}f}", "min_quote_amount": "10.000000",
        "order_quote_limit": "281474976.710655", "supported_size_decimals": one.lot_decimals,
        "supported_price_decimals": one.decimals, "supported_quote_decimals": 6,
        "size_decimals": one.lot_decimals, "price_decimals": one.decimals,
    }  # fmt: skip


_MARGINS = {
    "quote_multiplier": 1, "default_initial_margin_fraction": 500, "min_initial_margin_fraction": 200,
    "maintenance_margin_fraction": 120, "closeout_margin_fraction": 80,
}  # fmt: skip
_CONFIG = {
    "market_margin_mode": 0, "insurance_fund_account_index": 281474976710655, "liquidation_mode": 0,
    "force_reduce_only": False, "trading_hours": "", "funding_fee_discounts_enabled": False, "hidden": False,
    "rfq_enabled": True,
}  # fmt: skip


class Lighter:
    """The endpoints over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        listings = world.universe.listings
        self.perps = world.universe.rows("lighter", "perp").tolist()
        self.spot = world.universe.rows("lighter", "spot").tolist()
        self.by_market = {listings[row].index: row for row in [*self.perps, *self.spot]}
        self._abroad = {
            venue: {listings[row].base_raw: row for row in world.universe.rows(venue, "perp").tolist()}
            for venue in _OTHERS
        }

    def _detail(self, row: int, last: float, now_ms: int, perp: bool) -> dict[str, Any]:
        world, one = self.world, self.world.universe.listings[row]
        state = world.minute(now_ms // 60_000)
        gone = now_ms >= one.delisted_ms
        low, high = min(float(state.low_24h[row]), last), max(float(state.high_24h[row]), last)
        traded = {
            "last_trade_price": last, "daily_trades_count": 0 if gone else int(state.trades_24h[row]),
            "daily_base_token_volume": 0 if gone else round(float(state.base_24h[row]), one.lot_decimals),
            "daily_quote_token_volume": 0 if gone else round(float(state.quote_24h[row]), 6),
            "daily_price_low": 0 if gone else low, "daily_price_high": 0 if gone else high,
            "daily_price_change": 0 if gone else (last / float(state.price_24h[row]) - 1) * 100,
        }  # fmt: skip
        if not perp:
            return {**_terms(one, now_ms, perp), **traded, "daily_chart": {}}
        return {
            **_terms(one, now_ms, perp), **_MARGINS, **traded,
            "open_interest": 0 if gone else round(float(state.oi[row]), one.lot_decimals), "daily_chart": {},
            "market_config": _CONFIG, "strategy_index": 2,
            "mark_price": world.price_format[row] % state.mark[row],
            "index_price": world.price_format[row] % state.index[row],
        }  # fmt: skip

    def details(self, request: Request) -> Response:
        """GET orderBookDetails: all markets, or one by its number; what ended stays, inactive."""
        try:
            market = whole(request.query, "market_id")
        except ValueError as error:
            return failure(str(error))
        if market is not None and market not in (*self.by_market, 255):
            return failure(f"market_id {market}")
        listings, last = self.world.universe.listings, self.world.last(request.now_ms).tolist()
        shown = {
            perp: [
                self._detail(row, last[row], request.now_ms, perp)
                for row in rows
                if listings[row].listed_ms <= request.now_ms and market in (None, 255, listings[row].index)
            ]
            for perp, rows in ((True, self.perps), (False, self.spot))
        }
        return json_response({"code": 200, "order_book_details": shown[True], "spot_order_book_details": shown[False]})

    def funding_rates(self, request: Request) -> Response:
        """GET funding-rates: of this venue and of three others, all scaled up to 8 hours."""
        state, listings = self.world.minute(request.now_ms // 60_000), self.world.universe.listings
        shown = []
        for row in self.perps:
            one = listings[row]
            if not state.listed[row]:
                continue
            for venue, rows in self._abroad.items():
                other = rows.get(one.base_raw)
                if other is not None and state.listed[other]:
                    rate = round(float(state.rate[other]) * 8 / int(state.hours[other]), 8)
                    shown.append({"market_id": one.index, "exchange": venue, "symbol": one.symbol, "rate": rate})
            rate = percent(float(state.rate[row])) / 100 * 8
            shown.append({"market_id": one.index, "exchange": "lighter", "symbol": one.symbol, "rate": rate})
        return json_response({"code": 200, "funding_rates": shown})

    def _window(self, request: Request) -> tuple[int, int, int, int]:
        """(row, start, end, count_back) of a request; ValueError says what is wrong."""
        names = ("market_id", "start_timestamp", "end_timestamp", "count_back")
        market, start, end, count = (whole(request.query, name) for name in names)
        row = self.by_market.get(-1 if market is None else market)
        if row is None:
            raise ValueError("market_id")
        if start is None or end is None or count is None:
            raise ValueError("start_timestamp, end_timestamp and count_back are required")
        return row, start, end, count

    def candles(self, request: Request) -> Response:
        """GET candles, oldest first; null where there are none."""
        resolution = request.query.get("resolution", "")
        if resolution not in _STEPS:
            return failure("resolution")
        try:
            row, start, end, count = self._window(request)
        except ValueError as error:
            return failure(str(error))
        count = min(count or MOST_CANDLES, MOST_CANDLES)
        step_ms = _STEPS[resolution] * 60_000
        start = max(start, min(end, request.now_ms) // step_ms * step_ms - (count - 1) * step_ms)
        found = candles(self.world, row, _STEPS[resolution], start, end, count, request.now_ms)
        places, lots = self.world.universe.listings[row].decimals, self.world.universe.listings[row].lot_decimals
        shown = [
            {"t": at, "o": round(o, places), "h": round(h, places), "l": round(low, places), "c": round(c, places),
             "v": round(v, lots), "V": round(q, 6), "i": at // 1000 + n}
            for at, o, h, low, c, v, q, n, _ in found.rows()
        ]  # fmt: skip
        return json_response({"code": 200, "r": resolution, "c": shown or None})

    def fundings(self, request: Request) -> Response:
        """GET fundings: hourly settlements, oldest first; seconds, percent without a sign, and who pays."""
        if request.query.get("resolution") not in ("1h", "1d"):
            return failure("resolution")
        try:
            row, start, end, count = self._window(request)
        except ValueError as error:
            return failure(str(error))
        most = min(count or MOST_FUNDINGS, MOST_FUNDINGS)
        settled = settlements(self.world, row, min(end * 1000, request.now_ms), most)
        found = [(at, percent(rate)) for at, rate, _ in reversed(settled) if at >= start * 1000]
        minutes = np.array([at // 60_000 for at, _ in found], dtype=np.int64)
        prices = np.exp(self.world.market.price_logs(np.array([row]), minutes)[0]).tolist()
        shown = [
            {"timestamp": at // 1000, "value": f"{abs(paid) / 100 * price:.8f}", "rate": f"{abs(paid):.4f}",
             "direction": "short" if paid < 0 else "long"}
            for (at, paid), price in zip(found, prices, strict=True)
        ]  # fmt: skip
        return json_response({"code": 200, "resolution": request.query["resolution"], "fundings": shown})


def endpoints(world: World) -> list[Endpoint]:
    """The endpoints of Lighter."""
    lighter = Lighter(world)
    return [
        Endpoint("lighter", HOST, "/api/v1/orderBookDetails", lighter.details, "lighter"),
        Endpoint("lighter", HOST, "/api/v1/funding-rates", lighter.funding_rates, "lighter"),
        Endpoint("lighter", HOST, "/api/v1/candles", lighter.candles, "lighter"),
        Endpoint("lighter", HOST, "/api/v1/fundings", lighter.fundings, "lighter"),
    ]
