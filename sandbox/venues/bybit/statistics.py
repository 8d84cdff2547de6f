"""Bybit's account ratio, open interest and funding of the past, order books and index components."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

import numpy as np

from sandbox.derived.constituents import constituents
from sandbox.derived.ladder import ladder, texts
from sandbox.derived.positioning import long_of_late
from sandbox.market.derivatives import open_interest
from sandbox.market.noise import Ints, fraction
from sandbox.market.world import World
from sandbox.venues.bybit.market import HOST, envelope, failure
from sandbox.wire.endpoint import Endpoint, Request, Response
from sandbox.wire.numbers import trimmed, whole
from sandbox.wire.settlements import settlements

PERIODS = {"5min": 5, "15min": 15, "30min": 30, "1h": 60, "4h": 240, "1d": 1440}
RATIOS_SINCE_MS = 1_595_203_200_000  # 2020-07-20
_EXCHANGES = {"gate": ("GateIO", "_"), "okx": ("OKX", "-"), "coinbase": ("Coinbase", "-"), "kucoin": ("Kucoin", "-"),
              "bybit": ("Bybit", ""), "binance": ("Binance", ""), "mexc": ("Mexc", ""), "bitget": ("Bitget", ""),
              "hyperliquid": ("Hyperliquid", "")}  # fmt: skip
_DEEPEST = {"linear": 1000, "inverse": 1000, "spot": 200}
Rows = Callable[[int, Ints], list[dict[str, Any]]]
"""(row of the market, starts of the buckets in minutes, newest first) → the rows."""


class Statistics:
    """The endpoints over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        listings, rows = world.universe.listings, world.universe.rows
        contracts = rows("bybit", "perp", "future").tolist()
        self.by_symbol: dict[str, dict[str, int]] = {
            "linear": {listings[row].symbol: row for row in contracts if not listings[row].inverse},
            "inverse": {listings[row].symbol: row for row in contracts if listings[row].inverse},
            "spot": {listings[row].symbol: row for row in rows("bybit", "spot").tolist()},
        }

    def _row(self, request: Request) -> int | Response:
        category = request.query.get("category", "")
        if category not in self.by_symbol:
            return failure(10001, "params error: Category is invalid", request.now_ms)
        row = self.by_symbol[category].get(request.query.get("symbol", ""))
        if row is None or self.world.universe.listings[row].listed_ms > request.now_ms:
            return failure(10001, "params error: symbol invalid", request.now_ms)
        return row

    def paged(self, name: str, rows: Rows, usual: int, most: int, since_ms: int = 0) -> Callable[[Request], Response]:
        """GET buckets of one perp, newest first, paged by an opaque cursor; `name` is the parameter of the period."""

        def respond(request: Request) -> Response:
            if isinstance(row := self._row(request), Response):
                return row
            step = PERIODS.get(request.query.get(name, ""))
            if step is None or request.query["category"] == "spot":
                return failure(10001, f"params error: {name} invalid", request.now_ms)
            try:
                start, end, limit = (whole(request.query, one) for one in ("startTime", "endTime", "limit"))
                cursor = unquote(unquote(request.query.get("cursor", "")))
                before = int(cursor.partition("lasttime=")[2]) * 1000 if cursor else None
            except ValueError:
                return failure(10001, "params error: cursor, limit or time invalid", request.now_ms)
            listing, step_ms = self.world.universe.listings[row], step * 60_000
            ends = [request.now_ms, listing.delisted_ms - 1]
            ends += [] if end is None else [end]
            ends += [] if before is None else [before - 1]
            last = min(ends) // step_ms
            oldest = -(-max(listing.listed_ms, since_ms, start or 0) // step_ms)
            first = max(oldest, last - min(max(1, limit or usual), most) + 1)
            minutes = np.arange(last, first - 1, -1) * step
            found = rows(row, minutes) if len(minutes) else []
            more = len(minutes) > 0 and first > oldest
            cursor = quote(f"lastid=0&lasttime={int(minutes[-1]) * 60}", safe="") if more else ""
            result: dict[str, Any] = {"list": found, "nextPageCursor": cursor}
            if name == "intervalTime":
                result = {"symbol": listing.symbol, "category": request.query["category"], **result}
            return envelope(result, request.now_ms)

        return respond

    def ratios(self, row: int, minutes: Ints) -> list[dict[str, Any]]:
        """GET account-ratio."""
        symbol = self.world.universe.listings[row].symbol
        shares = np.rint(long_of_late(self.world, row, "accounts", minutes) * 1e4) / 1e4
        return [
            {"symbol": symbol, "buyRatio": trimmed(share, 4), "sellRatio": trimmed(1 - share, 4),
             "timestamp": str(minute * 60_000)}
            for minute, share in zip(minutes.tolist(), shares.tolist(), strict=True)
        ]  # fmt: skip

    def held(self, row: int, minutes: Ints) -> list[dict[str, Any]]:
        """GET open-interest: both sides, and since 2026-06-11 one side; of an inverse contract in USD."""
        lot = self.world.lot_format[row]
        rows = np.array([row])
        sizes = open_interest(self.world.market, rows, minutes)[0]
        if self.world.universe.listings[row].inverse:
            logs = self.world.market.index_logs(rows, minutes) + self.world.market.premium(rows, minutes)
            lot, sizes = "%.0f", np.rint(sizes * np.exp(logs[0]))
        return [
            {"openInterest": lot % (2 * size), "singleOpenInterest": lot % size, "timestamp": str(minute * 60_000)}
            for minute, size in zip(minutes.tolist(), sizes.tolist(), strict=True)
        ]

    def funding_history(self, request: Request) -> Response:
        """GET funding/history, newest first; a start without an end is an error."""
        if isinstance(row := self._row(request), Response):
            return row
        try:
            start, end, limit = (whole(request.query, name) for name in ("startTime", "endTime", "limit"))
        except ValueError as error:
            return failure(10001, f"params error: {error} invalid", request.now_ms)
        if start is not None and end is None:
            return failure(10001, "params error: endTime is required with startTime", request.now_ms)
        last = min(request.now_ms, end if end is not None else request.now_ms)
        found = settlements(self.world, row, last, min(max(1, limit or 200), 200))
        symbol = self.world.universe.listings[row].symbol
        shown = [{"symbol": symbol, "fundingRate": trimmed(rate, 8), "fundingRateTimestamp": str(at)}
                 for at, rate, _ in found if at >= (start or 0)]  # fmt: skip
        return envelope({"category": request.query["category"], "list": shown}, request.now_ms)

    def orderbook(self, request: Request) -> Response:
        """GET orderbook."""
        if isinstance(row := self._row(request), Response):
            return row
        try:
            limit = whole(request.query, "limit") or 25
        except ValueError:
            return failure(10001, "params error: limit invalid", request.now_ms)
        if not 1 <= limit <= _DEEPEST[request.query["category"]]:
            return failure(10001, "params error: limit invalid", request.now_ms)
        price, lot = self.world.price_format[row], self.world.lot_format[row]
        bids, asks = ladder(self.world, row, limit, request.now_ms)
        if self.world.universe.listings[row].inverse:
            # Sizes in USD.
            lot = "%.0f"
            for side in (bids, asks):
                side[:, 1] = np.maximum(np.rint(side[:, 0] * side[:, 1]), 1.0)
        now_ms = request.now_ms
        result = {"s": self.world.universe.listings[row].symbol, "b": texts(bids, price, lot),
                  "a": texts(asks, price, lot), "ts": now_ms - 9, "u": now_ms // 100 % 10_000_000,
                  "seq": now_ms // 400, "cts": now_ms - 12}  # fmt: skip
        return envelope(result, now_ms)

    def index_components(self, request: Request) -> Response:
        """GET index-price-components of an index, which has the name of its USDT perpetual."""
        name = request.query.get("indexName", "")
        row = self.by_symbol["linear"].get(name)
        minute = request.now_ms // 60_000
        if row is None or not name.endswith("USDT") or not self.world.minute(minute).listed[row]:
            return failure(10001, "params error: indexName invalid", request.now_ms)
        one, index = self.world.universe.listings[row], float(self.world.minute(minute).index[row])
        shown = []
        for venue, base, against, weight in constituents(self.world, row, minute):
            exchange, between = _EXCHANGES.get(venue, (venue.capitalize(), "-"))
            away = index * (1.0 + (fraction("constituent", venue, name, minute) - 0.5) * 4e-4)
            shown.append({
                "exchange": exchange, "spotPair": f"{base}{between}{against}",
                "equivalentPrice": trimmed(away, one.decimals), "multiplier": trimmed(one.units, 8),
                "price": trimmed(away, one.decimals), "weight": trimmed(weight, 16),
            })  # fmt: skip
        result = {"indexName": name, "lastPrice": trimmed(index, one.decimals), "updateTime": str(request.now_ms - 600),
                  "components": shown}  # fmt: skip
        return envelope(result, request.now_ms)


def endpoints(world: World) -> list[Endpoint]:
    """The paths of books, components and the past."""
    one = Statistics(world)
    paths = {
        "/v5/market/account-ratio": one.paged("period", one.ratios, 50, 500, RATIOS_SINCE_MS),
        "/v5/market/open-interest": one.paged("intervalTime", one.held, 50, 200),
        "/v5/market/funding/history": one.funding_history,
        "/v5/market/orderbook": one.orderbook,
        "/v5/market/index-price-components": one.index_components,
    }
    return [Endpoint("bybit", HOST, path, handler, "bybit") for path, handler in paths.items()]
