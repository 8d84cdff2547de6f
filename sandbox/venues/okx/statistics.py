"""OKX on the wire: the statistics (rubik) of positioning, taker volume and open interest per contract."""

from collections.abc import Callable

import numpy as np

from sandbox.derived.positioning import long_of_late, takers
from sandbox.market.derivatives import open_interest
from sandbox.market.universe import MINUTE_MS
from sandbox.venues.okx.market import NO_INSTRUMENT, Okx, contracts, envelope, failure, wrong
from sandbox.wire.endpoint import Request, Response
from sandbox.wire.numbers import trimmed, whole

_PERIODS = {"5m": 5, "15m": 15, "30m": 30, "1H": 60, "2H": 120, "4H": 240, "6Hutc": 360, "12Hutc": 720, "1Dutc": 1440}
_BUCKETS = 1440  # how far back the statistics go


class OkxStatistics:
    """What OKX publishes about USDT swaps in buckets, newest first."""

    def __init__(self, market: Okx) -> None:
        self.market = market
        self.world = market.world

    def accounts(self, request: Request) -> Response:
        """GET …/long-short-account-ratio-contract."""
        return self._ratio(request, "accounts")

    def top_accounts(self, request: Request) -> Response:
        """GET …/long-short-account-ratio-contract-top-trader."""
        return self._ratio(request, "top_accounts")

    def top_positions(self, request: Request) -> Response:
        """GET …/long-short-position-ratio-contract-top-trader."""
        return self._ratio(request, "top_positions")

    def _ratio(self, request: Request, kind: str) -> Response:
        buckets = self._buckets(request)
        if isinstance(buckets, Response):
            return buckets
        row, first, count, step = buckets
        minutes = first + np.arange(count) * step
        share = long_of_late(self.world, row, kind, minutes)
        pairs = zip((minutes * MINUTE_MS).tolist(), (share / (1.0 - share)).tolist(), strict=True)
        return envelope([[str(at), trimmed(ratio, 4)] for at, ratio in pairs][::-1])

    def taker_volume(self, request: Request) -> Response:
        """GET /api/v5/rubik/stat/taker-volume-contract: [start, sold, bought] in coins, contracts or dollars."""
        unit = request.query.get("unit", "1")
        if unit not in ("0", "1", "2"):
            return wrong("unit")
        buckets = self._buckets(request)
        if isinstance(buckets, Response):
            return buckets
        row, first, count, step = buckets
        found = takers(self.world, np.array([row]), first, count, step)
        size = self.world.universe.listings[row].contract_size if unit == "1" else 1.0
        sides = (found.sell_quote, found.buy_quote) if unit == "2" else (found.sell, found.buy)
        sold, bought = ((side[0] / size).tolist() for side in sides)
        starts = (first + np.arange(count) * step) * MINUTE_MS
        rows = zip(starts.tolist(), sold, bought, strict=True)
        return envelope([[str(at), trimmed(a, 4), trimmed(b, 4)] for at, a, b in rows][::-1])

    def open_interest_history(self, request: Request) -> Response:
        """GET /api/v5/rubik/stat/contracts/open-interest-history: [start, contracts, coins, dollars]."""
        buckets = self._buckets(request)
        if isinstance(buckets, Response):
            return buckets
        row, first, count, step = buckets
        market, rows, minutes = self.world.market, np.array([row]), first + np.arange(count) * step
        coins = open_interest(market, rows, minutes)[0]
        usd = coins * np.exp(market.index_logs(rows, minutes)[0]) * (1.0 + market.premium(rows, minutes)[0])
        one = self.world.universe.listings[row]
        columns = ((minutes * MINUTE_MS).tolist(), coins.tolist(), usd.tolist())
        return envelope([
            [str(at), trimmed(contracts(one, held, worth), 4), trimmed(held, 6), trimmed(worth, 4)]
            for at, held, worth in zip(*columns, strict=True)
        ][::-1])  # fmt: skip

    def _buckets(self, request: Request) -> tuple[int, int, int, int] | Response:
        """(row, first minute, buckets, minutes of one) of what is asked: the newest finished ones of the 1,440."""
        symbol = request.query.get("instId", "")
        row = self.market.trading(symbol, request.now_ms)
        if row is None or not symbol.endswith("-USDT-SWAP"):
            return failure("51001", NO_INSTRUMENT)
        step = _PERIODS.get(request.query.get("period", "5m"))
        if step is None:
            return wrong("period")
        try:
            begin, end, limit = (whole(request.query, name) for name in ("begin", "end", "limit"))
        except ValueError as error:
            return wrong(str(error))
        length = step * MINUTE_MS
        current = request.now_ms // length
        newest = current - 1 if end is None else min(current - 1, (end - 1) // length)
        oldest = max(current - _BUCKETS, -(-int(self.world.universe.listed[row]) // step))
        if begin is not None:
            oldest = max(oldest, begin // length + 1)
        count = min(min(max(1, limit or 100), 100), newest - oldest + 1)
        if count <= 0:
            return envelope([])
        return row, (newest - count + 1) * step, count, step


def handlers(market: Okx) -> dict[str, tuple[Callable[[Request], Response], str]]:
    """Path → (handler, name of its limit)."""
    statistics = OkxStatistics(market)
    return {
        "/api/v5/rubik/stat/contracts/long-short-account-ratio-contract": (statistics.accounts, "accounts"),
        "/api/v5/rubik/stat/contracts/long-short-account-ratio-contract-top-trader": (
            statistics.top_accounts,
            "top_accounts",
        ),
        "/api/v5/rubik/stat/contracts/long-short-position-ratio-contract-top-trader": (
            statistics.top_positions,
            "top_positions",
        ),
        "/api/v5/rubik/stat/taker-volume-contract": (statistics.taker_volume, "taker_volume"),
        "/api/v5/rubik/stat/contracts/open-interest-history": (
            statistics.open_interest_history,
            "open_interest_history",
        ),
    }
