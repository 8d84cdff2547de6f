"""KuCoin spot on the wire: all tickers, symbols, candles."""

from sandbox.derived.ladder import ladder
from sandbox.market.world import World
from sandbox.venues.kucoin.futures import POOL, failure, success
from sandbox.wire.candles import INTERVALS, candles
from sandbox.wire.endpoint import Endpoint, Request, Response
from sandbox.wire.numbers import trimmed, whole

HOST = "api.kucoin.com"
MINUTE_MS = 60_000
_MOST_CANDLES = 1500
_BOOK_LEVELS = 100
_STEPS = {
    "1min": "1m", "3min": "3m", "5min": "5m", "15min": "15m", "30min": "30m", "1hour": "1h", "2hour": "2h",
    "4hour": "4h", "6hour": "6h", "8hour": "8h", "12hour": "12h", "1day": "1d",
}  # fmt: skip


class Spot:
    """The endpoints over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rows = world.universe.rows("kucoin", "spot").tolist()
        self.by_symbol = {world.universe.listings[row].symbol: row for row in self.rows}

    def tickers(self, request: Request) -> Response:
        """GET market/allTickers."""
        world = self.world
        state, last = world.minute(request.now_ms // MINUTE_MS), world.last(request.now_ms).tolist()
        rows = [row for row in self.rows if state.listed[row]]
        columns = (state.price_24h, state.high_24h, state.low_24h, state.quote_24h, state.base_24h)
        out = []
        for row, *values in zip(rows, *(column[rows].tolist() for column in columns), strict=True):
            then, high, low, quote, base = values
            one, now = world.universe.listings[row], last[row]
            digits, step = one.decimals, 1.0 / world.universe.scale[row]
            out.append({
                "symbol": one.symbol, "symbolName": one.symbol, "buy": trimmed(max(now - step, step), digits),
                "bestBidSize": trimmed(base / 8000, 4), "sell": trimmed(now, digits),
                "bestAskSize": trimmed(base / 9000, 4), "changeRate": trimmed(now / then - 1, 4),
                "changePrice": trimmed(now - then, digits), "high": trimmed(max(high, now), digits),
                "low": trimmed(min(low, now), digits), "vol": trimmed(base, 8), "volValue": trimmed(quote, 12),
                "last": trimmed(now, digits), "averagePrice": trimmed((now + then) / 2, digits + 2),
                "takerFeeRate": "0.001", "makerFeeRate": "0.001", "takerCoefficient": "1", "makerCoefficient": "1",
            })  # fmt: skip
        return success({"time": request.now_ms, "ticker": out})

    def symbols(self, request: Request) -> Response:
        """GET symbols: what trades, and for a day what has ceased to."""
        listings = [self.world.universe.listings[row] for row in self.rows]
        out = []
        for one in listings:
            if not one.listed_ms <= request.now_ms < one.delisted_ms + 86_400_000:
                continue
            lot = trimmed(10.0**-one.lot_decimals, max(0, one.lot_decimals))
            tick = trimmed(10.0**-one.decimals, one.decimals)
            out.append({
                "symbol": one.symbol, "name": one.symbol, "baseCurrency": one.base_raw, "quoteCurrency": one.quote,
                "feeCurrency": one.quote, "market": one.quote if one.quote in ("BTC", "ETH") else "USDS",
                "baseMinSize": lot, "quoteMinSize": "0.1", "baseMaxSize": "10000000000", "quoteMaxSize": "99999999",
                "baseIncrement": lot, "quoteIncrement": tick, "priceIncrement": tick, "priceLimitRate": "0.1",
                "minFunds": "0.1", "isMarginEnabled": False, "enableTrading": request.now_ms < one.delisted_ms,
            })  # fmt: skip
        return success(out)

    def book(self, request: Request) -> Response:
        """GET market/orderbook/level2_100."""
        row = self.by_symbol.get(request.query.get("symbol", ""))
        if row is None or not self.world.minute(request.now_ms // MINUTE_MS).listed[row]:
            return failure(400100, "This pair is not provided at present")
        one = self.world.universe.listings[row]
        price, lot = one.decimals, max(0, one.lot_decimals)
        bids, asks = ([[trimmed(at, price), trimmed(size, lot)] for at, size in side.tolist()]
                      for side in ladder(self.world, row, _BOOK_LEVELS, request.now_ms))  # fmt: skip
        return success({"time": request.now_ms, "sequence": str(request.now_ms // 10), "bids": bids, "asks": asks})

    def candles(self, request: Request) -> Response:
        """GET market/candles, newest first; the end, in seconds as the start, does not belong to the response."""
        row = self.by_symbol.get(request.query.get("symbol", ""))
        if row is None or self.world.universe.listed[row] * MINUTE_MS > request.now_ms:
            return failure(400100, "This pair is not provided at present")
        if request.query.get("type") not in _STEPS:
            return failure(400100, "Incorrect candlestick type.")
        try:
            start, end = whole(request.query, "startAt"), whole(request.query, "endAt")
        except ValueError as error:
            return failure(400100, f"{error} parameter invalid")
        step = INTERVALS[_STEPS[request.query["type"]]]
        until = None if not end else end * 1000 - 1
        begin = None if not start else start * 1000
        if begin is not None and until is not None:
            # Of a longer time the newest candles count.
            begin = max(begin, min(until, request.now_ms) - _MOST_CANDLES * step * MINUTE_MS)
        found = candles(self.world, row, step, begin, until, _MOST_CANDLES, request.now_ms)
        digits = self.world.universe.listings[row].decimals
        rows = [
            [str(at // 1000), *(trimmed(price, digits) for price in (o, c, h, low)), trimmed(v, 8), trimmed(q, 8)]
            for at, o, h, low, c, v, q, _, _ in found.rows() if until is None or at <= until
        ]  # fmt: skip
        return success(rows[::-1])


def endpoints(world: World) -> list[Endpoint]:
    """The spot paths of KuCoin with their weights."""
    spot = Spot(world)
    return [
        Endpoint("kucoin", HOST, "/api/v1/market/allTickers", spot.tickers, POOL, 15),
        Endpoint("kucoin", HOST, "/api/v2/symbols", spot.symbols, POOL, 4),
        Endpoint("kucoin", HOST, "/api/v1/market/orderbook/level2_100", spot.book, POOL, 4),
        Endpoint("kucoin", HOST, "/api/v1/market/candles", spot.candles, POOL, 3),
    ]
