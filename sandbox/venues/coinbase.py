"""Simulated Coinbase Exchange: products, tickers and candles, ten requests a second."""

from datetime import UTC, datetime
from typing import Any

import numpy as np

from sandbox.derived.ladder import ladder
from sandbox.http.limits import Pool, Use
from sandbox.http.simulated_venue import SimulatedVenue
from sandbox.market.listing import Listing
from sandbox.market.noise import Floats, fraction
from sandbox.market.world import World
from sandbox.wire.candles import candles
from sandbox.wire.endpoint import Endpoint, Request, Response, json_response
from sandbox.wire.numbers import trimmed

HOST = "api.exchange.coinbase.com"
GRANULARITIES = (60, 300, 900, 3600, 21_600, 86_400)
MOST = 300
BOOK_LEVELS = 3000
DUST_USD = 1.0
"""USD; a minute of less volume had no trade, and has no row."""
MINUTE_MS, DAY_MS = 60_000, 86_400_000


def failure(status: int, message: str) -> Response:
    """An error as Coinbase writes it."""
    return json_response({"message": message}, status)


def to_ms(text: str) -> int:
    """A time of a query: ISO 8601 or seconds."""
    if text.replace(".", "", 1).isdigit():
        return int(float(text) * 1000)
    at = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


class Coinbase:
    """The endpoints over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rows = [int(row) for row in world.universe.rows("coinbase", "spot")]
        self.by_symbol = {world.universe.listings[row].symbol: row for row in self.rows}

    def products(self, request: Request) -> Response:
        """GET /products; delisted products remain in the list."""
        listings = self.world.universe.listings
        return json_response([_product(listings[row], request.now_ms) for row in self.rows
                            if listings[row].listed_ms <= request.now_ms])  # fmt: skip

    def stats(self, request: Request) -> Response:
        """GET /products/stats: 24 hours and 30 days of every product; a delisted one has no last price."""
        state, last = self.world.minute(request.now_ms // MINUTE_MS), self.world.last(request.now_ms)
        month = self.world.remembered("coinbase month", request.now_ms // DAY_MS, self._month, 2)
        out: dict[str, Any] = {}
        for n, row in enumerate(self.rows):
            one = self.world.universe.listings[row]
            if one.listed_ms > request.now_ms:
                continue
            out[one.symbol] = {"stats_30day": {"volume": trimmed(month[n], 8)}, "stats_24hour": {"volume": "0"}}
            if state.listed[row]:
                price, now = self.world.price_format[row], float(last[row])
                out[one.symbol]["stats_24hour"] = {
                    "open": price % state.price_24h[row], "high": price % max(float(state.high_24h[row]), now),
                    "low": price % min(float(state.low_24h[row]), now), "last": price % now,
                    "volume": trimmed(state.base_24h[row], 8),
                }  # fmt: skip
        return json_response(out)

    def _month(self, day: int) -> Any:
        """Approximate volume of the last 30 days in coins: the USD of all days at the last day's price."""
        rows = np.array(self.rows, dtype=np.int64)
        quote = self.world.market.hour_volumes(rows, np.arange((day - 30) * 24, day * 24)).sum(axis=1)
        return quote / np.exp(self.world.market.price_logs(rows, np.array([day * 1440]))[:, 0])

    def ticker(self, request: Request) -> Response:
        """GET /products/{id}/ticker."""
        row = self.by_symbol.get(request.query["product"])
        state = self.world.minute(request.now_ms // MINUTE_MS)
        if row is None or not state.listed[row]:
            return failure(404, "NotFound")
        one, now = self.world.universe.listings[row], self.world.last_of(row, request.now_ms)
        price, step = self.world.price_format[row], 1.0 / float(self.world.universe.scale[row])
        trades = int(state.trades_24h[row]) + 1
        traded = request.now_ms - int(DAY_MS / trades * fraction("traded", one.id, request.now_ms // 1000))
        return json_response({
            "trade_id": (request.now_ms - one.listed_ms) // DAY_MS * trades + trades, "price": price % now,
            "size": trimmed(state.base_24h[row] / trades, 8),
            "time": datetime.fromtimestamp(traded / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "bid": price % max(now - step, step), "ask": price % now, "volume": trimmed(state.base_24h[row], 8),
        })  # fmt: skip

    def book(self, request: Request) -> Response:
        """GET /products/{id}/book: the best level, or with level=2 the whole book."""
        row = self.by_symbol.get(request.query["product"])
        if row is None or not self.world.minute(request.now_ms // MINUTE_MS).listed[row]:
            return failure(404, "NotFound")
        if (level := request.query.get("level", "1")) not in ("1", "2"):
            return failure(400, "Invalid level")
        price, levels = self.world.price_format[row], BOOK_LEVELS if level == "2" else 1
        bids, asks = (_levels(side, price) for side in ladder(self.world, row, levels, request.now_ms))
        return json_response({
            "bids": bids, "asks": asks, "sequence": request.now_ms // 10, "auction_mode": False, "auction": None,
            "time": datetime.fromtimestamp(request.now_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        })  # fmt: skip

    def candles(self, request: Request) -> Response:
        """GET /products/{id}/candles, newest first: seconds, low, high, open, close, coins."""
        row = self.by_symbol.get(request.query["product"])
        if row is None or self.world.universe.listed[row] * MINUTE_MS > request.now_ms:
            return failure(404, "NotFound")
        if request.query.get("granularity", "60") not in map(str, GRANULARITIES):
            return failure(400, "Unsupported granularity")
        step_ms = int(request.query.get("granularity", "60")) * 1000
        try:
            start, end = (to_ms(request.query[name]) if request.query.get(name) else None for name in ("start", "end"))
        except ValueError:
            return failure(400, "Invalid time")
        if start is None or end is None:  # one alone is ignored
            start, end = None, request.now_ms
        elif end < start:
            return failure(400, "end must be after start")
        elif (end - start) // step_ms > MOST:
            text = f"Count of aggregations requested exceeds {MOST}"
            return failure(400, f"granularity too small for the requested time range. {text}")
        found = candles(self.world, row, step_ms // MINUTE_MS, start, end, MOST, request.now_ms)
        dust = DUST_USD / float(self.world.market.quote_usd[row])
        rows = [[at // 1000, low, h, o, c, round(base, 8)]
                for at, o, h, low, c, base, quote, _, _ in found.rows() if quote >= dust]  # fmt: skip
        return json_response(rows[::-1])


def _levels(side: Floats, price: str) -> list[tuple[str, str, int]]:
    """The levels of a side, each with its number of orders."""
    prices, sizes = ((" ".join([form] * len(side)) % tuple(column.tolist())).split()
                     for form, column in zip((price, "%.8f"), side.T, strict=True))  # fmt: skip
    orders = 1 + (side[:, 1] * 1e8).astype(np.int64) % 4
    return list(zip(prices, [size.rstrip("0").rstrip(".") for size in sizes], orders.tolist(), strict=True))


def _product(one: Listing, now_ms: int) -> dict[str, Any]:
    gone = now_ms >= one.delisted_ms
    return {
        "id": one.symbol, "base_currency": one.base_raw, "quote_currency": one.quote,
        "quote_increment": trimmed(10.0**-one.decimals, one.decimals),
        "base_increment": trimmed(10.0**-one.lot_decimals, one.lot_decimals),
        "display_name": f"{one.base_raw}/{one.quote}", "min_market_funds": "1", "margin_enabled": False,
        "post_only": False, "limit_only": fraction("limit only", one.id) < 0.02, "cancel_only": False,
        "status": "delisted" if gone else "online", "status_message": "", "trading_disabled": gone,
        "fx_stablecoin": one.quote_asset == "USD" and one.coin in ("USDT", "DAI"),
        "max_slippage_percentage": "0.02000000", "auction_mode": False, "high_bid_limit_percentage": "",
    }  # fmt: skip


def endpoints(world: World) -> list[Endpoint]:
    """The endpoints of Coinbase Exchange."""
    coinbase = Coinbase(world)
    return [
        Endpoint("coinbase", HOST, "/products", coinbase.products, "coinbase"),
        Endpoint("coinbase", HOST, "/products/stats", coinbase.stats, "coinbase"),
        Endpoint("coinbase", HOST, "/products/<product:str>/ticker", coinbase.ticker, "coinbase"),
        Endpoint("coinbase", HOST, "/products/<product:str>/book", coinbase.book, "coinbase"),
        Endpoint("coinbase", HOST, "/products/<product:str>/candles", coinbase.candles, "coinbase"),
    ]


def refusal(use: Use, pool: Pool, now_ms: int) -> Response:
    """429 until the second is over."""
    return failure(429, "Public rate limit exceeded")


SIMULATED = SimulatedVenue(
    venue="coinbase",
    hosts=(HOST,),
    pools={"coinbase": Pool(10, 1_000)},
    endpoints=endpoints,
    refusal=refusal,
)
