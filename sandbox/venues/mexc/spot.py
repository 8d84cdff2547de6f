"""MEXC's spot on the wire (API v3): pairs, 24 h tickers, candles."""

from typing import Any

from sandbox.derived.ladder import ladder, texts
from sandbox.market.listing import DAY_MS, Listing
from sandbox.market.world import World
from sandbox.wire.candles import INTERVALS, candles
from sandbox.wire.endpoint import Request, Response, json_response
from sandbox.wire.numbers import trimmed, whole

LONGEST = 1000
_GONE_MS = 7 * DAY_MS
_STEPS = {f"{n}m": f"{n}m" for n in (1, 5, 15, 30)} | {"60m": "1h", "4h": "4h", "1d": "1d"}


def failure(code: int, text: str) -> Response:
    """An error of the spot API."""
    return json_response({"code": code, "msg": text}, 400)


class Spot:
    """The endpoints of /api/v3 over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rows = world.universe.rows("mexc", "spot").tolist()
        self.by_symbol = {world.universe.listings[row].symbol: row for row in self.rows}

    def exchange_info(self, request: Request) -> Response:
        """GET exchangeInfo; a pair that has gone is offline for a while."""
        listings = self.world.universe.listings
        shown = [listings[row] for row in self.rows]
        return json_response({
            "timezone": "CST", "serverTime": request.now_ms, "rateLimits": [], "exchangeFilters": [],
            "symbols": [_pair(one, request.now_ms) for one in shown
                        if one.listed_ms <= request.now_ms < one.delisted_ms + _GONE_MS],
        })  # fmt: skip

    def tickers(self, request: Request) -> Response:
        """GET ticker/24hr: one object, or a list of all without a symbol."""
        symbol, world = request.query.get("symbol"), self.world
        if symbol and symbol not in self.by_symbol:
            return failure(-1121, "Invalid symbol.")
        state, last = world.minute(request.now_ms // 60_000), world.last(request.now_ms).tolist()
        rows = [row for row in ([self.by_symbol[symbol]] if symbol else self.rows) if state.listed[row]]
        columns = (state.price_24h, state.high_24h, state.low_24h, state.base_24h, state.quote_24h)
        out = []
        for row, *values in zip(rows, *(column[rows].tolist() for column in columns), strict=True):
            then, high, low, base, quote = values
            one, now = world.universe.listings[row], last[row]
            price, lot = world.price_format[row], world.lot_format[row]
            step = 1.0 / world.universe.scale[row]
            out.append({
                "symbol": one.symbol, "priceChange": trimmed(now - then, one.decimals),
                "priceChangePercent": trimmed(now / then - 1, 8), "prevClosePrice": price % then,
                "lastPrice": price % now, "bidPrice": price % max(now - step, step), "bidQty": lot % (base / 9000),
                "askPrice": price % now, "askQty": lot % (base / 8000), "openPrice": price % then,
                "highPrice": price % max(high, now), "lowPrice": price % min(low, now), "volume": lot % base,
                "quoteVolume": trimmed(quote, 8), "openTime": request.now_ms - DAY_MS, "closeTime": request.now_ms,
                "count": None,
            })  # fmt: skip
        return json_response(out[0] if symbol and out else out, weight=1 if symbol else 40)

    def depth(self, request: Request) -> Response:
        """GET depth."""
        row = self.by_symbol.get(request.query.get("symbol", ""))
        if row is None or not self.world.minute(request.now_ms // 60_000).listed[row]:
            return failure(-1121, "Invalid symbol.")
        try:
            levels = min(max(1, whole(request.query, "limit") or 100), 5000)
        except ValueError:
            return failure(700004, "Param limit error")
        formats = self.world.price_format[row], self.world.lot_format[row]
        bids, asks = (texts(side, *formats) for side in ladder(self.world, row, levels, request.now_ms))
        return json_response(
            {"lastUpdateId": request.now_ms // 10, "bids": bids, "asks": asks, "timestamp": request.now_ms}
        )

    def klines(self, request: Request) -> Response:
        """GET klines, oldest first; the seventh value is the end of the candle, not its last millisecond."""
        row = self.by_symbol.get(request.query.get("symbol", ""))
        if row is None or self.world.universe.listed[row] * 60_000 > request.now_ms:
            return failure(-1121, "Invalid symbol.")
        if (interval := request.query.get("interval", "")) not in _STEPS:
            return failure(-1120, "Invalid interval.")
        try:
            start, end, limit = (whole(request.query, name) for name in ("startTime", "endTime", "limit"))
        except ValueError as error:
            return failure(700004, f"Param {error} error")
        count, step = min(max(1, limit or 500), LONGEST), INTERVALS[_STEPS[interval]]
        found = candles(self.world, row, step, start, None if end is None else end - 1, count, request.now_ms)
        price, lot = self.world.price_format[row], self.world.lot_format[row]
        return json_response([
            [at, price % o, price % h, price % low, price % c, lot % v, at + step * 60_000, trimmed(q, 2)]
            for at, o, h, low, c, v, q, _, _ in found.rows()
        ])  # fmt: skip


def _pair(one: Listing, now_ms: int) -> dict[str, Any]:
    live = now_ms < one.delisted_ms
    return {
        "symbol": one.symbol, "status": "1" if live else "3", "baseAsset": one.base_raw,
        "baseAssetPrecision": one.lot_decimals, "quoteAsset": one.quote, "quotePrecision": one.decimals,
        "quoteAssetPrecision": one.decimals, "baseCommissionPrecision": one.lot_decimals,
        "quoteCommissionPrecision": one.decimals, "orderTypes": ["LIMIT", "MARKET", "LIMIT_MAKER"],
        "isSpotTradingAllowed": live, "isMarginTradingAllowed": False, "quoteAmountPrecision": "1",
        "baseSizePrecision": "0", "permissions": ["SPOT"], "filters": [], "maxQuoteAmount": "2000000",
        "makerCommission": "0.0005", "takerCommission": "0.0005", "quoteAmountPrecisionMarket": "1",
        "maxQuoteAmountMarket": "100000", "fullName": one.coin, "tradeSideType": 1,
    }  # fmt: skip
