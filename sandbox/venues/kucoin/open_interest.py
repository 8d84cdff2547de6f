"""KuCoin's unified API on the wire: open interest of a perpetual per bucket."""

import numpy as np

from sandbox.market.derivatives import open_interest
from sandbox.market.world import World
from sandbox.venues.kucoin.futures import MINUTE_MS, POOL, failure, lots, success
from sandbox.wire.endpoint import Endpoint, Request, Response
from sandbox.wire.numbers import whole

HOST = "api.kucoin.com"
_INTERVALS = {"5min": 5, "15min": 15, "30min": 30, "1hour": 60, "4hour": 240, "1day": 1440}
_MOST = 200


class OpenInterest:
    """The endpoint over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        listings = world.universe.listings
        self.by_symbol = {listings[row].symbol: row for row in world.universe.rows("kucoin", "perp").tolist()}

    def open_interest(self, request: Request) -> Response:
        """GET /api/ua/v1/market/open-interest, newest first: lots at the start of each bucket."""
        row, step = (
            self.by_symbol.get(request.query.get("symbol", "")),
            _INTERVALS.get(request.query.get("interval", "")),
        )
        if row is None or step is None:
            return failure(400100, "symbol or interval parameter invalid")
        try:
            start, end, size = (whole(request.query, name) for name in ("startAt", "endAt", "pageSize"))
        except ValueError as error:
            return failure(400100, f"{error} parameter invalid")
        width, listing = step * MINUTE_MS, self.world.universe.listings[row]
        newest = min(request.now_ms, end if end is not None else request.now_ms, listing.delisted_ms - 1) // width
        oldest = max(-(-max(start or 0, listing.listed_ms) // width), newest - min(size or _MOST, _MOST) + 1)
        minutes, rows = np.arange(oldest, newest + 1) * step, np.array([row])
        if not len(minutes):
            return success([])
        held = open_interest(self.world.market, rows, minutes)[0].tolist()
        prices = np.exp(self.world.market.index_logs(rows, minutes)[0]).tolist()
        shown = [
            {"openInterest": str(lots(listing, size, price)), "ts": minute * MINUTE_MS}
            for minute, size, price in zip(minutes.tolist(), held, prices, strict=True)
        ]
        return success(shown[::-1])


def endpoints(world: World) -> list[Endpoint]:
    """The path of open interest with its weight."""
    return [Endpoint("kucoin", HOST, "/api/ua/v1/market/open-interest", OpenInterest(world).open_interest, POOL, 10)]
