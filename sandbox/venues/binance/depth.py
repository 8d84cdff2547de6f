"""Binance's order books, index constituents, and settled funding rates."""

from collections.abc import Callable
from itertools import groupby
from typing import Any

import numpy as np

from sandbox.derived.constituents import constituents
from sandbox.derived.ladder import ladder, texts
from sandbox.market.derivatives import HOUR_MS, funding_hours, funding_rate
from sandbox.market.noise import Ints, fraction
from sandbox.market.world import World
from sandbox.venues.binance.market import API, FAPI, NO_SYMBOL, failure
from sandbox.wire.endpoint import Endpoint, Request, Response, json_response
from sandbox.wire.numbers import whole
from sandbox.wire.settlements import settlements

_FUTURES_WEIGHT = {5: 2, 10: 2, 20: 2, 50: 2, 100: 5, 500: 10, 1000: 20}
_EXCHANGES = {"gate": ("gateio", "_"), "mexc": ("mxc", ""), "okx": ("okex", "-"), "coinbase": ("coinbase", "-"),
              "kucoin": ("kucoin", "-")}  # fmt: skip
_LONGEST_ALL_MS = 7 * 86_400_000  # how far the settlements of all symbols reach in one response
_LONGEST_INTERVAL_MS = 8 * HOUR_MS


class Depth:
    """The endpoints over one world."""

    def __init__(self, world: World, inverse: bool = False) -> None:
        self.world = world
        listings = world.universe.listings
        perps = world.universe.rows("binance", "perp").tolist()
        self.perps = np.array([row for row in perps if listings[row].inverse == inverse], dtype=np.int64)
        spot = world.universe.rows("binance", "spot").tolist()
        self.by_symbol = {"futures": {listings[row].symbol: row for row in self.perps.tolist()},
                          "spot": {listings[row].symbol: row for row in spot}}  # fmt: skip

    def _row(self, request: Request, market: str) -> int | Response:
        if not (symbol := request.query.get("symbol")):
            return failure(-1102, NO_SYMBOL)
        row: int | None = self.by_symbol[market].get(symbol)
        if row is None or not self.world.minute(request.now_ms // 60_000).listed[row]:
            return failure(-1121, "Invalid symbol.")
        return row

    def depth(self, market: str) -> Callable[[Request], Response]:
        """GET depth."""

        def respond(request: Request) -> Response:
            if isinstance(row := self._row(request, market), Response):
                return row
            spot = market == "spot"
            try:
                limit = whole(request.query, "limit") or (100 if spot else 500)
            except ValueError:
                return failure(-1102, NO_SYMBOL.replace("symbol", "limit"))
            if not spot and limit not in _FUTURES_WEIGHT:
                return failure(-4021, f"{limit} is not a valid depth limit.")
            limit = min(limit, 5000)
            weight = (5 if limit <= 100 else 25 if limit <= 500 else 50 if limit <= 1000 else 250) if spot else (
                _FUTURES_WEIGHT[limit])  # fmt: skip
            price, lot = ("%.8f", "%.8f") if spot else (self.world.price_format[row], self.world.lot_format[row])
            bids, asks = (texts(side, price, lot) for side in ladder(self.world, row, limit, request.now_ms))
            body: dict[str, Any] = {"lastUpdateId": request.now_ms * 3 + row}
            if not spot:
                body |= {"E": request.now_ms, "T": request.now_ms - 6}
            return json_response(body | {"bids": bids, "asks": asks}, weight=weight)

        return respond

    def constituents(self, request: Request) -> Response:
        """GET constituents."""
        if isinstance(row := self._row(request, "futures"), Response):
            return row
        one, minute = self.world.universe.listings[row], request.now_ms // 60_000
        price = float(self.world.minute(minute).index[row]) / one.units
        shown = []
        for venue, base, quote, weight in constituents(self.world, row, minute):
            exchange, between = _EXCHANGES.get(venue, (venue, ""))
            away = 1.0 + (fraction("constituent", venue, one.symbol, minute) - 0.5) * 4e-4
            shown.append({"exchange": exchange, "symbol": f"{base}{between}{quote}", "price": f"{price * away:.8f}",
                          "weight": f"{weight:.8f}"})  # fmt: skip
        return json_response({"symbol": one.symbol, "time": request.now_ms, "constituents": shown})

    def funding_rates(self, request: Request) -> Response:
        """GET fundingRate, oldest first: of one symbol, or without one the newest of all."""
        try:
            start, end, limit = (whole(request.query, name) for name in ("startTime", "endTime", "limit"))
        except ValueError as error:
            return failure(-1100, f"Illegal characters found in parameter '{error}'.")
        most, last = min(max(1, limit or 100), 1000), min(request.now_ms, end if end is not None else request.now_ms)
        symbol = request.query.get("symbol")
        if symbol and symbol not in self.by_symbol["futures"]:
            return json_response([])
        if symbol:
            row = self.by_symbol["futures"][symbol]
            until = last if start is None else min(last, start + most * _LONGEST_INTERVAL_MS)
            found = settlements(self.world, row, until, most if start is None else most * 8)
            paid = [(at, row, rate) for at, rate, _ in found[::-1] if at >= (start or 0)]
        elif start is not None:
            paid = self._paid_among(start, min(last, start + _LONGEST_ALL_MS))
        else:
            span = _LONGEST_INTERVAL_MS
            paid = self._paid_among(last - span, last)
            while len(paid) < most and span < _LONGEST_ALL_MS:
                span *= 2
                paid = self._paid_among(last - span, last)
        return self._settled(paid[:most] if start is not None else paid[-most:], last)

    def _paid_among(self, first_ms: int, last_ms: int) -> list[tuple[int, int, float]]:
        """(settled ms, row, rate) of all perpetuals in [first, last]; the rate is that of the minute before."""
        market, out = self.world.market, []
        for hour in range(-(-first_ms // HOUR_MS), last_ms // HOUR_MS + 1):
            before = np.array([hour * 60 - 1])
            lengths = funding_hours(market, self.perps, before)
            due = (hour % np.maximum(lengths, 1) == 0) & (lengths > 0) & market.listed(self.perps, before)
            rows: Ints = self.perps[due[:, 0]]
            rates = funding_rate(market, rows, before, lengths[due[:, 0]])[:, 0].tolist()
            out += [(hour * HOUR_MS, row, rate) for row, rate in zip(rows.tolist(), rates, strict=True)]
        return out

    def _settled(self, paid: list[tuple[int, int, float]], last_ms: int) -> Response:
        listings, market, out = self.world.universe.listings, self.world.market, []
        for at, these in groupby(paid, key=lambda one: one[0]):
            some = list(these)
            rows, minute = np.array([row for _, row, _ in some]), np.array([at // 60_000])
            marks = np.exp(market.index_logs(rows, minute)[:, 0] + market.premium(rows, minute)[:, 0]).tolist()
            for (_, row, rate), mark in zip(some, marks, strict=True):
                symbol = listings[row].symbol
                late = max(0, int(fraction("settled", symbol, at) * 24) - 8)  # ms that the venue's clock strays by
                if at + late <= last_ms:
                    out.append({"symbol": symbol, "fundingTime": at + late, "fundingRate": f"{rate:.8f}",
                                "markPrice": f"{mark:.8f}"})  # fmt: skip
        return json_response(out)


def endpoints(world: World) -> list[Endpoint]:
    """The paths of books, constituents and settlements."""
    one = Depth(world)
    return [
        Endpoint("binance", FAPI, "/fapi/v1/depth", one.depth("futures"), "binance_fapi", 10),
        Endpoint("binance", API, "/api/v3/depth", one.depth("spot"), "binance_api", 25),
        Endpoint("binance", FAPI, "/fapi/v1/constituents", one.constituents, "binance_fapi", 2),
        Endpoint("binance", FAPI, "/fapi/v1/fundingRate", one.funding_rates, "binance_funding", 1),
    ]
