"""Binance's /futures/data: long and short shares, taker volumes and open interest per bucket, of the last 30 days."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sandbox.derived.positioning import long_of_late, takers
from sandbox.market.derivatives import open_interest
from sandbox.market.noise import Ints
from sandbox.market.world import World
from sandbox.venues.binance.market import FAPI, NO_SYMBOL, failure
from sandbox.wire.endpoint import Endpoint, Request, Response, json_response
from sandbox.wire.numbers import whole

KEPT_MS = 30 * 86_400_000
STARTS_FROM_MS = 1_782_345_600_000
"""From 2026-06-25 on, the timestamp of a bucket is its start; before, it was its end."""
PERIODS = {"5m": 5, "15m": 15, "30m": 30, "1h": 60, "2h": 120, "4h": 240, "6h": 360, "12h": 720, "1d": 1440}
_MOST = 500
RATIOS = {
    "/futures/data/globalLongShortAccountRatio": "accounts",
    "/futures/data/topLongShortAccountRatio": "top_accounts",
    "/futures/data/topLongShortPositionRatio": "top_positions",
}
Rows = Callable[[int, Ints, int, list[int]], list[dict[str, Any]]]
"""(row of the market, starts of the buckets in minutes, minutes of a bucket, timestamps in minutes) → the body."""


class Statistics:
    """The endpoints over one world."""

    def __init__(self, world: World, inverse: bool = False) -> None:
        self.world = world
        perps = [(row, world.universe.listings[row]) for row in world.universe.rows("binance", "perp").tolist()]
        self.by_symbol = {one.symbol: row for row, one in perps if one.inverse == inverse}

    def handler(self, rows: Rows) -> Callable[[Request], Response]:
        """GET with symbol, period, limit, startTime and endTime: the buckets that have ended."""

        def respond(request: Request) -> Response:
            symbol, period = request.query.get("symbol"), request.query.get("period")
            if not symbol:
                return failure(-1102, NO_SYMBOL)
            if period not in PERIODS:
                return failure(-1130, "parameter 'period' is invalid.")
            try:
                start, end, limit = (whole(request.query, name) for name in ("startTime", "endTime", "limit"))
            except ValueError as error:
                return failure(-1130, f"parameter '{error}' is invalid.")
            if limit is not None and not 1 <= limit <= _MOST:
                return failure(-1130, "parameter 'limit' is invalid.")
            if start is not None and (start < request.now_ms - KEPT_MS or (end is not None and end < start)):
                return failure(-1130, "parameter 'startTime' is invalid.")
            row = self.by_symbol.get(symbol)
            if row is None:
                return failure(-1121, "Invalid symbol.")
            step = PERIODS[period]
            labels = self._labels(row, step, start, end, limit or 30, request.now_ms)
            starts = np.where(labels * 60_000 >= STARTS_FROM_MS, labels, labels - step)
            return json_response(rows(row, starts, step, labels.tolist()) if len(labels) else [])

        return respond

    def _labels(self, row: int, step: int, start: int | None, end: int | None, limit: int, now_ms: int) -> Ints:
        listing, step_ms = self.world.universe.listings[row], step * 60_000
        # The newest timestamp: of a bucket that ends now, or began a bucket ago.
        ended = now_ms - step_ms if now_ms >= STARTS_FROM_MS + step_ms else now_ms
        newest = min(ended, end if end is not None else now_ms, listing.delisted_ms - 1)
        oldest = max(now_ms - KEPT_MS, listing.listed_ms, start or 0)
        last, first = newest // step_ms, -(-oldest // step_ms)
        first, last = (
            (first, min(last, first + limit - 1)) if start is not None else (max(first, last - limit + 1), last)
        )
        return np.arange(first, last + 1) * step

    def ratios(self, kind: str) -> Rows:
        def rows(row: int, starts: Ints, _: int, labels: list[int]) -> list[dict[str, Any]]:
            symbol = self.world.universe.listings[row].symbol
            shares = np.rint(long_of_late(self.world, row, kind, starts) * 1e4) / 1e4
            return [
                {"symbol": symbol, "longAccount": f"{share:.4f}", "longShortRatio": f"{share / (1 - share):.4f}",
                 "shortAccount": f"{1 - share:.4f}", "timestamp": label * 60_000}
                for label, share in zip(labels, shares.tolist(), strict=True)
            ]  # fmt: skip

        return rows

    def taker_volumes(self, row: int, starts: Ints, step: int, labels: list[int]) -> list[dict[str, Any]]:
        """GET takerlongshortRatio."""
        found = takers(self.world, np.array([row]), int(starts[0]), len(starts), step)
        return [
            {"buySellRatio": f"{buy / max(sell, 1e-12):.4f}", "buyVol": f"{buy:.4f}", "sellVol": f"{sell:.4f}",
             "timestamp": label * 60_000}
            for label, buy, sell in zip(labels, found.buy[0].tolist(), found.sell[0].tolist(), strict=True)
        ]  # fmt: skip

    def held(self, row: int, starts: Ints, step: int, labels: list[int]) -> list[dict[str, Any]]:
        """GET openInterestHist: at the end of each bucket."""
        rows, market, ends = np.array([row]), self.world.market, starts + step
        size = open_interest(market, rows, ends)[0]
        mark = np.exp(market.index_logs(rows, ends)[0] + market.premium(rows, ends)[0])
        symbol = self.world.universe.listings[row].symbol
        return [
            {"symbol": symbol, "sumOpenInterest": f"{held:.8f}", "sumOpenInterestValue": f"{held * price:.8f}",
             "timestamp": label * 60_000}
            for label, held, price in zip(labels, size.tolist(), mark.tolist(), strict=True)
        ]  # fmt: skip


def endpoints(world: World) -> list[Endpoint]:
    """All paths of /futures/data."""
    one = Statistics(world)
    paths = {path: one.handler(one.ratios(kind)) for path, kind in RATIOS.items()}
    paths["/futures/data/takerlongshortRatio"] = one.handler(one.taker_volumes)
    paths["/futures/data/openInterestHist"] = one.handler(one.held)
    return [Endpoint("binance", FAPI, path, handler, "binance_statistics") for path, handler in paths.items()]
