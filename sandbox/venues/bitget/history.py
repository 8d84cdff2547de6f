"""Simulated Bitget, the past: candles of perpetuals and spot, positioning (API v2), settlements (API v3)."""

import numpy as np

from sandbox.derived.positioning import long_of_late, takers
from sandbox.market.noise import Ints
from sandbox.venues.bitget.market import Bitget, envelope, failure
from sandbox.wire.candles import INTERVALS, candles
from sandbox.wire.endpoint import Request, Response
from sandbox.wire.numbers import trimmed, whole
from sandbox.wire.settlements import settlements

BUCKETS = 30
_PERP_STEPS = {f"{n}m": f"{n}m" for n in (1, 3, 5, 15, 30)} | {"1H": "1h", "4H": "4h", "1Dutc": "1d"}
_SPOT_STEPS = {f"{n}min": f"{n}m" for n in (1, 3, 5, 15, 30)} | {"1h": "1h", "4h": "4h", "1Dutc": "1d"}
_PERIODS = {"5m": 5, "15m": 15, "30m": 30, "1h": 60, "2h": 120, "4h": 240, "6h": 360, "12h": 720, "1d": 1440}


class History:
    """The endpoints of the past over one world."""

    def __init__(self, bitget: Bitget) -> None:
        self.bitget = bitget
        self.world = bitget.world

    def funding_history(self, request: Request) -> Response:
        """GET /api/v3/market/history-fund-rate, newest first; the cursor is the number of the page."""
        rows = self.bitget.wanted(request)
        if rows is None or "symbol" not in request.query or request.query.get("category") == "SPOT":
            return failure("40034", "Parameter does not exist", request.now_ms)
        try:
            limit, page = whole(request.query, "limit") or 100, whole(request.query, "cursor") or 1
        except ValueError as error:
            return failure("40020", f"Parameter {error} error", request.now_ms)
        limit = min(max(1, limit), 100)
        found = settlements(self.world, rows[0], request.now_ms, limit * page)[limit * (page - 1) :]
        return envelope({"resultList": [
            {"symbol": request.query["symbol"], "fundingRate": trimmed(rate, 10), "fundingRateTimestamp": str(at)}
            for at, rate, _ in found
        ]}, request.now_ms)  # fmt: skip

    def _candles(self, request: Request, rows: dict[str, int], steps: dict[str, str], most: int) -> Response:
        symbol, granularity = request.query.get("symbol", ""), request.query.get("granularity", "")
        row = rows.get(symbol)
        if row is None or self.world.universe.listed[row] * 60_000 > request.now_ms:
            return failure("40034", f"Parameter {symbol} does not exist", request.now_ms)
        if granularity not in steps:
            return failure("40020", "Parameter granularity error", request.now_ms)
        try:
            start, end, limit = (whole(request.query, name) for name in ("startTime", "endTime", "limit"))
        except ValueError as error:
            return failure("40020", f"Parameter {error} error", request.now_ms)
        count = min(max(1, limit or 100), most)
        step = INTERVALS[steps[granularity]]
        width = step * 60_000
        if start is not None and end is not None:
            # The newest rows of the window win.
            start = max(start, min(end, request.now_ms) // width * width - (count - 1) * width)
        found = candles(self.world, row, step, start, end, count, request.now_ms)
        price, lot = self.world.price_format[row], self.world.lot_format[row]
        spot = self.world.universe.listings[row].type == "spot"
        return envelope([
            [str(at), price % o, price % h, price % low, price % c, lot % v, *[trimmed(q, 8)] * (2 if spot else 1)]
            for at, o, h, low, c, v, q, _, _ in found.rows()
        ], request.now_ms)  # fmt: skip

    def _contracts(self, request: Request) -> dict[str, int]:
        return self.bitget.by_symbol.get(request.query.get("productType", "").upper(), {})

    def perp_candles(self, request: Request) -> Response:
        """GET /api/v2/mix/market/candles, oldest first; the last row is the running candle."""
        return self._candles(
            request, self.bitget.by_symbol.get(request.query.get("productType", "").upper(), {}), _PERP_STEPS, 1000
        )

    def perp_history(self, request: Request) -> Response:
        """GET /api/v2/mix/market/history-candles."""
        return self._candles(
            request, self.bitget.by_symbol.get(request.query.get("productType", "").upper(), {}), _PERP_STEPS, 200
        )

    def spot_candles(self, request: Request) -> Response:
        """GET /api/v2/spot/market/candles."""
        return self._candles(request, self.bitget.by_symbol["SPOT"], _SPOT_STEPS, 1000)

    def spot_history(self, request: Request) -> Response:
        """GET /api/v2/spot/market/history-candles; needs endTime."""
        if not request.query.get("endTime"):
            return failure("40019", "Parameter endTime cannot be empty", request.now_ms)
        return self._candles(request, self.bitget.by_symbol["SPOT"], _SPOT_STEPS, 200)

    def _buckets(self, request: Request) -> tuple[int, Ints, int] | Response:
        """(row, starts of the last 30 whole buckets in minutes, their length) or the refusal."""
        symbol = request.query.get("symbol", "")
        row, period = self.bitget.perps.get(symbol), _PERIODS.get(request.query.get("period", "5m"))
        if row is None or period is None:
            return failure("40034", f"Parameter {symbol} does not exist", request.now_ms)
        # The venue keeps these for its larger USDT contracts only.
        one = self.world.universe.listings[row]
        if one.quote != "USDT" or one.volume_usd < 1e6 or not self.world.minute(request.now_ms // 60_000).listed[row]:
            return failure("40054", f"The data fetched by {symbol} is empty", request.now_ms)
        running = request.now_ms // (period * 60_000)
        return row, np.arange(running - BUCKETS, running) * period, period

    def account_ratio(self, request: Request) -> Response:
        """GET /api/v2/mix/market/account-long-short, oldest first."""
        found = self._buckets(request)
        if isinstance(found, Response):
            return found
        row, minutes, _ = found
        shares = np.rint(long_of_late(self.world, row, "accounts", minutes) * 1e4) / 1e4
        return envelope([
            {"longAccountRatio": f"{share:.4f}", "shortAccountRatio": f"{1 - share:.4f}",
             "longShortAccountRatio": f"{share / (1 - share) / 100:.4f}", "ts": str(minute * 60_000)}
            for minute, share in zip(minutes.tolist(), shares.tolist(), strict=True)
        ], request.now_ms)  # fmt: skip

    def taker_volume(self, request: Request) -> Response:
        """GET /api/v2/mix/market/taker-buy-sell, oldest first, in base coins."""
        found = self._buckets(request)
        if isinstance(found, Response):
            return found
        row, minutes, period = found
        volumes = takers(self.world, np.array([row]), int(minutes[0]), len(minutes), period)
        lot = self.world.lot_format[row]
        return envelope([
            {"buyVolume": lot % buy, "sellVolume": lot % sell, "ts": str(minute * 60_000)}
            for minute, buy, sell in zip(minutes.tolist(), volumes.buy[0].tolist(), volumes.sell[0].tolist(),
                                         strict=True)
        ], request.now_ms)  # fmt: skip
