"""Binance on the wire: tickers, premium index, funding info, open interest and klines, futures and spot."""

from typing import Any

from sandbox.market.derivatives import next_funding_ms
from sandbox.market.listings import funding_cap
from sandbox.market.world import World
from sandbox.venues.binance.info import futures_info, spot_info
from sandbox.wire.candles import INTERVALS, Candles, candles
from sandbox.wire.endpoint import Endpoint, Request, Response, json_response
from sandbox.wire.numbers import whole

FAPI, API = "fapi.binance.com", "api.binance.com"
SETTLED_MINUTES = 30 * 1440  # how long a delisted perpetual stays in premiumIndex and exchangeInfo
_DAY_MS = 86_400_000


def failure(code: int, message: str) -> Response:
    """An error body as Binance writes it."""
    return json_response({"code": code, "msg": message}, 400)


# Of spot alone.
MINI = ("symbol", "openPrice", "highPrice", "lowPrice", "lastPrice", "volume", "quoteVolume", "openTime", "closeTime",
        "firstId", "lastId", "count")  # fmt: skip
NO_SYMBOL = "Mandatory parameter 'symbol' was not sent, was empty/null, or malformed."


class Binance:
    """The endpoints over one world, of Binance or of a venue with the same wire format."""

    def __init__(self, world: World, venue: str = "binance", inverse: bool = False) -> None:
        self.world = world
        futures = world.universe.rows(venue, "perp", "future").tolist()
        self.futures = [row for row in futures if world.universe.listings[row].inverse == inverse]
        self.marked = self.futures  # what premiumIndex shows
        self.spot = [int(row) for row in world.universe.rows(venue, "spot")]
        self.by_symbol = {
            "futures": {world.universe.listings[row].symbol: row for row in self.futures},
            "spot": {world.universe.listings[row].symbol: row for row in self.spot},
        }

    def _ticker(self, rows: list[int], now_ms: int, spot: bool) -> list[dict[str, Any]]:
        world = self.world
        state, last = world.minute(now_ms // 60_000), world.last(now_ms)
        opened = (now_ms - _DAY_MS) // 60_000 * 60_000 if not spot else now_ms - _DAY_MS
        picked = [row for row in rows if state.listed[row]]
        columns = [a[picked].tolist() for a in (last, state.price_24h, state.high_24h, state.low_24h,
                                                state.base_24h, state.quote_24h, state.trades_24h)]  # fmt: skip
        out = []
        for row, now, then, high, low, base, quote, trades in zip(picked, *columns, strict=True):
            price, lot = ("%.8f", "%.8f") if spot else (world.price_format[row], world.lot_format[row])
            shown = price % now
            high, low = max(high, now), min(low, now)
            step = 1.0 / world.universe.scale[row]
            first = row * 1_000_000 + now_ms // 60_000 * 37
            one: dict[str, Any] = {
                "symbol": world.universe.listings[row].symbol,
                "priceChange": price % (now - then),
                "priceChangePercent": f"{(now / then - 1) * 100:.3f}",
                "weightedAvgPrice": price % (quote / base if base else now),
            }
            if spot:
                one["prevClosePrice"] = price % then
            one["lastPrice"] = shown
            one["lastQty"] = lot % (base / max(trades, 1))
            if spot:
                one["bidPrice"], one["bidQty"] = price % max(now - step, step), lot % (base / 5000)
                one["askPrice"], one["askQty"] = shown, lot % (base / 7000)
            one |= {
                "openPrice": price % then, "highPrice": price % high, "lowPrice": price % low,
                "volume": lot % base, "quoteVolume": f"{quote:.8f}" if spot else f"{quote:.2f}",
                "openTime": opened, "closeTime": now_ms,
                "firstId": first, "lastId": first + trades - 1, "count": trades,
            }  # fmt: skip
            out.append(one)
        return out

    def tickers(self, market: str) -> Any:
        """GET ticker/24hr, all symbols or one; of spot also with the fields of type MINI only."""
        rows, known = (self.futures, self.by_symbol["futures"]) if market == "futures" else (
            self.spot, self.by_symbol["spot"])  # fmt: skip
        weights = (40, 1) if market == "futures" else (80, 2)

        def respond(request: Request) -> Response:
            symbol = request.query.get("symbol")
            if symbol and symbol not in known:
                return failure(-1121, "Invalid symbol.")
            found = self._ticker([known[symbol]] if symbol else rows, request.now_ms, market == "spot")
            if market == "spot" and request.query.get("type") == "MINI":
                found = [{name: one[name] for name in MINI} for one in found]
            if not symbol:
                return json_response(found, weight=weights[0])
            return json_response(found[0], weight=weights[1]) if found else failure(-1121, "Invalid symbol.")

        return respond

    def premium_index(self, request: Request) -> Response:
        """GET premiumIndex; like the venue's it includes dated and settled contracts."""
        symbol = request.query.get("symbol")
        if symbol and symbol not in self.by_symbol["futures"]:
            return failure(-1121, "Invalid symbol.")
        world = self.world
        minute = request.now_ms // 60_000
        state = world.minute(minute)
        following = next_funding_ms(request.now_ms, state.hours).tolist()
        out = []
        for row in [self.by_symbol["futures"][symbol]] if symbol else self.marked:
            gone = minute - int(world.universe.delisted[row])
            perp = world.universe.perp[row] > 0
            if gone >= (SETTLED_MINUTES if perp else 0) or minute < world.universe.listed[row]:
                continue
            live = perp and gone < 0
            out.append({
                "symbol": world.universe.listings[row].symbol,
                "markPrice": f"{state.mark[row]:.8f}",
                "indexPrice": f"{state.index[row]:.8f}",
                "estimatedSettlePrice": f"{0.0 if gone >= 0 else state.index[row]:.8f}",
                "lastFundingRate": f"{state.rate[row] if live else 0.0:.8f}",
                "interestRate": f"{0.0001 * state.hours[row] / 8 if live else 0.0:.8f}",
                "nextFundingTime": following[row] if live else 0,
                "time": request.now_ms // 1000 * 1000,
            })  # fmt: skip
        if symbol:
            return json_response(out[0], weight=1) if out else failure(-1121, "Invalid symbol.")
        return json_response(out, weight=10)

    def funding_info(self, request: Request) -> Response:
        """GET fundingInfo: only the symbols whose interval or cap is not the default."""
        state = self.world.minute(request.now_ms // 60_000)
        out = []
        for row in self.futures:
            one = self.world.universe.listings[row]
            if not state.listed[row] or not one.intervals or (state.hours[row] == 8 and len(one.intervals) == 1):
                continue
            since = [at for at, _ in one.intervals if at <= request.now_ms][-1]
            out.append({
                "symbol": one.symbol,
                "adjustedFundingRateCap": f"{funding_cap(one.venue):.8f}",
                "adjustedFundingRateFloor": f"{-funding_cap(one.venue):.8f}",
                "fundingIntervalHours": int(state.hours[row]),
                "disclaimer": False,
                "updateTime": since or one.listed_ms,
            })  # fmt: skip
        return json_response(out)

    def open_interest(self, request: Request) -> Response:
        """GET openInterest of one symbol, in base units."""
        symbol = request.query.get("symbol")
        if not symbol:
            return failure(-1102, NO_SYMBOL)
        row = self.by_symbol["futures"].get(symbol)
        if row is None:
            return failure(-1121, "Invalid symbol.")
        state = self.world.minute(request.now_ms // 60_000)
        if not state.listed[row]:
            return failure(-4108, "Symbol is on delivering or delivered or settling or closed or pre-trading.")
        held = self.world.lot_format[row] % state.oi[row]
        return json_response({"symbol": symbol, "openInterest": held, "time": request.now_ms})

    def klines(self, market: str) -> Any:
        """GET klines; like the venue's the last candle is the running one."""
        known, most = self.by_symbol[market], 1500 if market == "futures" else 1000

        def respond(request: Request) -> Response:
            symbol, interval = request.query.get("symbol"), request.query.get("interval")
            if not symbol:
                return failure(-1102, NO_SYMBOL)
            if interval not in INTERVALS:
                return failure(-1120, "Invalid interval.")
            row = known.get(symbol)
            if row is None or self.world.universe.listed[row] * 60_000 > request.now_ms:
                return failure(-1121, "Invalid symbol.")
            try:
                start, end, limit = (whole(request.query, name) for name in ("startTime", "endTime", "limit"))
            except ValueError as error:
                legal = "legal range is '^[0-9]{1,20}$'."
                return failure(-1100, f"Illegal characters found in parameter '{error}'; {legal}")
            if limit is not None and (limit < 1 or (market == "futures" and limit > most)):
                return failure(-1130, "Data sent for parameter 'limit' is not valid.")
            count = min(limit or 500, most)
            weight = 2 if market == "spot" else 1 if count < 100 else 2 if count < 500 else 5 if count <= 1000 else 10
            found = candles(self.world, row, INTERVALS[interval], start, end, count, request.now_ms)
            return json_response(self._rows(row, found, market == "spot"), weight=weight)

        return respond

    def _rows(self, row: int, found: Candles, spot: bool) -> list[list[Any]]:
        price, lot = ("%.8f", "%.8f") if spot else (self.world.price_format[row], self.world.lot_format[row])
        quote = "%.8f" if spot else "%.5f"
        return [
            [at, price % o, price % h, price % low, price % c, lot % v, at + found.step_ms - 1, quote % q, n,
             lot % (v * b / q if q else 0.0), quote % b, "0"]
            for at, o, h, low, c, v, q, n, b in found.rows()
        ]  # fmt: skip

    def endpoints(self) -> list[Endpoint]:
        """All paths of the venue."""
        world = self.world
        return [
            Endpoint(
                "binance",
                FAPI,
                "/fapi/v1/exchangeInfo",
                lambda request: futures_info(world, request),
                "binance_fapi",
                1,
            ),
            Endpoint("binance", FAPI, "/fapi/v1/ticker/24hr", self.tickers("futures"), "binance_fapi", 40),
            Endpoint("binance", FAPI, "/fapi/v1/premiumIndex", self.premium_index, "binance_fapi", 10),
            Endpoint("binance", FAPI, "/fapi/v1/fundingInfo", self.funding_info, "binance_funding", 1),
            Endpoint("binance", FAPI, "/fapi/v1/openInterest", self.open_interest, "binance_fapi", 1),
            Endpoint("binance", FAPI, "/fapi/v1/klines", self.klines("futures"), "binance_fapi", 1),
            Endpoint(
                "binance", API, "/api/v3/exchangeInfo", lambda request: spot_info(world, request), "binance_api", 20
            ),
            Endpoint("binance", API, "/api/v3/ticker/24hr", self.tickers("spot"), "binance_api", 80),
            Endpoint("binance", API, "/api/v3/klines", self.klines("spot"), "binance_api", 2),
        ]


def endpoints(world: World) -> list[Endpoint]:
    """The endpoints of Binance."""
    return Binance(world).endpoints()
