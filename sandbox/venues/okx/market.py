"""OKX on the wire: instruments, tickers, candles and books of swaps and spot pairs."""

from typing import Any

import numpy as np

from sandbox.derived.ladder import ladder
from sandbox.market.listing import DAY_MS, HOUR_MS, Listing
from sandbox.market.noise import Floats
from sandbox.market.universe import MINUTE_MS
from sandbox.market.world import World
from sandbox.wire.candles import INTERVALS, candles
from sandbox.wire.endpoint import Request, Response, json_response
from sandbox.wire.numbers import trimmed, whole

HOST = "www.okx.com"
NEWEST_CANDLES = 1440
_BARS = {name.replace("h", "H"): minutes for name, minutes in INTERVALS.items() if minutes <= 240} | {
    "6Hutc": 360, "12Hutc": 720, "1Dutc": 1440,
}  # fmt: skip
_PREOPEN_MS, _SUSPENDED_MS = 60 * DAY_MS, DAY_MS
_UNSTATED = (
    "alias", "auctionEndTime", "baseCcy", "contTdSwTime", "ctMult", "ctType", "ctVal", "ctValCcy", "expTime",
    "instFamily", "lever", "listTime", "lotSz", "maxIcebergSz", "maxLmtAmt", "maxLmtSz", "maxMktAmt", "maxMktSz",
    "maxPlatOILmt", "maxStopSz", "maxTriggerSz", "maxTwapSz", "minSz", "openType", "optType", "posLmtAmt",
    "posLmtPct", "preMktSwTime", "quoteCcy", "settleCcy", "stk", "tickSz", "uly",
)  # fmt: skip
NO_INSTRUMENT = "Instrument ID, Instrument ID code, or Spread ID doesn't exist."


def envelope(data: Any) -> Response:
    """Data in OKX's envelope."""
    return json_response({"code": "0", "msg": "", "data": data})


def failure(code: str, message: str, status: int = 200) -> Response:
    """An error in OKX's envelope; what the client asked wrongly is a 400."""
    return json_response({"code": code, "data": [], "msg": message}, status)


def missing(name: str) -> Response:
    return failure("50014", f"Parameter {name} can not be empty.", 400)


def wrong(name: str) -> Response:
    return failure("51000", f"Parameter {name}  error", 400)


class Okx:
    """The markets of OKX over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        listings = world.universe.listings
        self.rows = {"SWAP": world.universe.rows("okx", "perp"), "SPOT": world.universe.rows("okx", "spot")}
        self.row = {listings[n].symbol: n for rows in self.rows.values() for n in rows.tolist()}

    def listed(self, kind: str, now_ms: int) -> list[int]:
        """The rows of a kind that trade now."""
        rows = self.rows[kind]
        found: list[int] = rows[self.world.minute(now_ms // MINUTE_MS).listed[rows]].tolist()
        return found

    def trading(self, symbol: str, now_ms: int) -> int | None:
        """The row of a symbol that trades now, or None."""
        row = self.row.get(symbol)
        return row if row is not None and self.world.minute(now_ms // MINUTE_MS).listed[row] else None

    def tickers(self, request: Request) -> Response:
        """GET /api/v5/market/tickers of swaps and spot pairs."""
        kind = request.query.get("instType", "")
        if kind not in self.rows:
            return wrong("instType") if kind else missing("instType")
        rows = self.listed(kind, request.now_ms)
        world, minute = self.world, request.now_ms // MINUTE_MS
        state, last = world.minute(minute), world.last(request.now_ms).tolist()
        columns = (state.price_24h, state.high_24h, state.low_24h, state.quote_24h, state.base_24h,
                   *self.day_starts(request.now_ms))  # fmt: skip
        ts, out = str(request.now_ms), []
        for row, *values in zip(rows, *(column[rows].tolist() for column in columns), strict=True):
            then, high, low, quote, base, utc0, utc8 = values
            one, now = world.universe.listings[row], last[row]
            price, step = one.decimals, 1.0 / world.universe.scale[row]
            size = contracts(one, base, quote) if kind == "SWAP" else base
            out.append({
                "instType": kind, "instId": one.symbol, "last": trimmed(now, price),
                "lastSz": _size(one, base / 90_000, now), "askPx": trimmed(now, price),
                "askSz": _size(one, base / 9_000, now), "bidPx": trimmed(max(now - step, step), price),
                "bidSz": _size(one, base / 8_000, now), "open24h": trimmed(then, price),
                "high24h": trimmed(max(high, now), price), "low24h": trimmed(min(low, now), price),
                "volCcy24h": trimmed(base if kind == "SWAP" else quote, 8), "vol24h": trimmed(size, 8), "ts": ts,
                "sodUtc0": trimmed(utc0, price), "sodUtc8": trimmed(utc8, price),
            })  # fmt: skip
        return envelope(out)

    def day_starts(self, now_ms: int) -> tuple[Floats, Floats]:
        """Prices of all rows at the start of the day, in UTC and in UTC+8."""
        starts = [now_ms // DAY_MS * DAY_MS, (now_ms + 8 * HOUR_MS) // DAY_MS * DAY_MS - 8 * HOUR_MS]

        def make(_: int) -> Floats:
            minutes = np.array(starts) // MINUTE_MS
            market, rows = self.world.market, self.world.all_rows
            return market.to_tick(rows, np.exp(market.price_logs(rows, minutes)))

        prices = self.world.remembered("okx day starts", sum(starts), make, 1)
        return prices[:, 0], prices[:, 1]

    def instruments(self, request: Request) -> Response:
        """GET /api/v5/public/instruments of swaps and spot pairs."""
        kind, symbol = request.query.get("instType", ""), request.query.get("instId")
        if kind not in self.rows:
            return wrong("instType") if kind else missing("instType")
        found = []
        for row in self.rows[kind].tolist():
            one = self.world.universe.listings[row]
            state = _state(one, request.now_ms)
            if state and symbol in (None, one.symbol):
                found.append(instrument(one, state))
        return envelope(found) if found or symbol is None else failure("51001", NO_INSTRUMENT)

    def candles(self, request: Request) -> Response:
        """GET /api/v5/market/candles: the newest 1,440."""
        return self._candles(request, NEWEST_CANDLES)

    def history_candles(self, request: Request) -> Response:
        """GET /api/v5/market/history-candles: all years."""
        return self._candles(request, None)

    def _candles(self, request: Request, newest: int | None) -> Response:
        """Newest first; `after` and `before` exclude their own time."""
        row = self.row.get(request.query.get("instId", ""))
        if row is None or self.world.universe.listed[row] * MINUTE_MS > request.now_ms:
            return failure("51001", NO_INSTRUMENT)
        step = _BARS.get(request.query.get("bar", "1m"))
        if step is None:
            return wrong("bar")
        try:
            after, before, limit = (whole(request.query, name) for name in ("after", "before", "limit"))
        except ValueError as error:
            return wrong(str(error))
        count = min(max(1, limit or 100), 300)
        found = candles(self.world, row, step, None, None if after is None else after - 1, count, request.now_ms)
        oldest = -1 if newest is None else (request.now_ms // found.step_ms - newest) * found.step_ms
        one, shown = self.world.universe.listings[row], []
        for at, opened, high, low, closed, base, quote, _, _ in found.rows():
            if at > max(oldest, -1 if before is None else before):
                prices = [trimmed(price, one.decimals) for price in (opened, high, low, closed)]
                volumes = (contracts(one, base, quote), base, quote) if one.type == "perp" else (base, quote, quote)
                finished = "1" if at + found.step_ms <= request.now_ms else "0"
                shown.append([str(at), *prices, *(trimmed(volume, 8) for volume in volumes), finished])
        return envelope(shown[::-1])

    def books(self, request: Request) -> Response:
        """GET /api/v5/market/books; sizes of swaps are in contracts."""
        row = self.trading(request.query.get("instId", ""), request.now_ms)
        if row is None:
            return failure("51001", NO_INSTRUMENT)
        try:
            levels = min(max(1, whole(request.query, "sz") or 1), 400)
        except ValueError:
            return wrong("sz")
        one = self.world.universe.listings[row]
        bids, asks = ladder(self.world, row, levels, request.now_ms)
        sides = {
            name: [
                [trimmed(price, one.decimals), _size(one, size, price), "0", str(1 + int(price * 1e6) % 9)]
                for price, size in side.tolist()
            ]
            for name, side in (("asks", asks), ("bids", bids))
        }
        return envelope([{**sides, "ts": str(request.now_ms)}])


def contracts(one: Listing, base: float, quote: float) -> float:
    """Contracts of a size in coins, worth so much in quote."""
    return (quote if one.inverse else base) / one.contract_size


def _size(one: Listing, base: float, price: float) -> str:
    """A size of the book in the market's own unit, at least one lot."""
    lot = 10.0**-one.lot_decimals
    whole_lots = max(1, round(base / lot)) * lot
    if one.type == "spot":
        return trimmed(whole_lots, max(0, one.lot_decimals))
    if one.inverse:
        return str(max(1, round(base * price / one.contract_size)))
    return trimmed(whole_lots / one.contract_size, 2)


def _state(one: Listing, now_ms: int) -> str:
    """The word for the market's state; empty where it is not listed."""
    if now_ms < one.listed_ms - _PREOPEN_MS or now_ms >= one.delisted_ms + _SUSPENDED_MS:
        return ""
    return "preopen" if now_ms < one.listed_ms else "live" if now_ms < one.delisted_ms else "suspend"


def instrument(one: Listing, state: str) -> dict[str, Any]:
    """A row of instruments; before its opening a market has hardly more than a name."""
    swap = one.type == "perp"
    row: dict[str, Any] = dict.fromkeys(_UNSTATED, "")
    row |= {"instId": one.symbol, "instType": "SWAP" if swap else "SPOT", "state": state, "category": "1",
            "futureSettlement": False, "instIdCode": 10_000 + sum(map(ord, one.symbol)), "tradeQuoteCcyList": [],
            "ruleType": "normal"}  # fmt: skip
    if state == "preopen":
        return row
    lot = 10.0**-one.lot_decimals
    own = trimmed(1.0 if one.inverse else lot / one.contract_size if swap else lot, max(8, one.lot_decimals))
    row |= {"listTime": str(one.listed_ms), "lotSz": own, "minSz": own, "lever": "50" if swap else "10",
            "tickSz": trimmed(10.0**-one.decimals, one.decimals), "maxLmtAmt": "20000000", "maxLmtSz": "100000000",
            "maxIcebergSz": "100000000.0000000000000000", "maxTwapSz": "100000000.0000000000000000",
            "maxTriggerSz": "100000000.0000000000000000", "maxMktSz": "30000", "maxStopSz": "30000"}  # fmt: skip
    if swap:
        family = one.symbol.removesuffix("-SWAP")
        row |= {"uly": family, "instFamily": family, "settleCcy": one.coin if one.inverse else one.quote,
                "ctMult": "1", "ctType": "inverse" if one.inverse else "linear",
                "ctVal": trimmed(one.contract_size, 8),
                "ctValCcy": "USD" if one.inverse else one.base_raw}  # fmt: skip
    else:
        row |= {"baseCcy": one.base_raw, "quoteCcy": one.quote, "maxMktAmt": "1000000"}
    if state == "suspend":
        row["expTime"] = str(one.delisted_ms)
    return row
