"""Simulated Aster: Binance's wire format over its own markets, hosts and weights, and the paths it has in addition."""

import dataclasses
from typing import Any

import orjson
from sanic import Sanic

from sandbox.derived.constituents import constituents
from sandbox.http.dispatch import Sandbox
from sandbox.http.limits import Pool
from sandbox.http.simulated_venue import SimulatedVenue
from sandbox.http.streams import Frame, liquidations_of
from sandbox.market.listings import funding_cap
from sandbox.market.world import World
from sandbox.venues import binance
from sandbox.venues.aster.info import futures_info, spot_info
from sandbox.venues.binance import streams
from sandbox.venues.binance.market import NO_SYMBOL, Binance, failure
from sandbox.wire.endpoint import Endpoint, Request, Response, json_response
from sandbox.wire.numbers import whole
from sandbox.wire.settlements import settlements

FAPI, SAPI, STREAMS = "fapi.asterdex.com", "sapi.asterdex.com", "fstream.asterdex.com"
WINDOW_MS = 1000
_DAY_MS = 86_400_000
_NAMES = {"okx": "okex", "gate": "gateio", "mexc": "mxc"}
_PAIRS = {"okx": "{}-{}", "coinbase": "{}-{}", "kucoin": "{}-{}", "gate": "{}_{}"}
Settled = list[tuple[int, str, float]]


class Aster(Binance):
    """The endpoints over one world."""

    def __init__(self, world: World) -> None:
        super().__init__(world, "aster")
        # Shield and USD-quoted symbols have a mark price and funding only.
        self.futures = [row for row in self.futures if not world.universe.listings[row].group]

    def _ticker(self, rows: list[int], now_ms: int, spot: bool) -> list[dict[str, Any]]:
        found = super()._ticker(rows, now_ms, spot)
        known = self.by_symbol["spot" if spot else "futures"]
        for one in found:
            one["prevClosePrice"] = one["openPrice"]
            if spot:
                listing = self.world.universe.listings[known[one["symbol"]]]
                one |= {"baseAsset": listing.base_raw, "quoteAsset": listing.quote}
        return found

    def premium_index(self, request: Request) -> Response:
        """GET premiumIndex: weight 1; lists the symbols without an order book too."""
        return dataclasses.replace(super().premium_index(request), weight=1)

    def funding_info(self, request: Request) -> Response:
        """GET fundingInfo: every symbol."""
        state = self.world.minute(request.now_ms // 60_000)
        symbols = {row: self.world.universe.listings[row].symbol for row in self.marked if state.listed[row]}
        asked = request.query.get("symbol")
        return json_response([
            {"symbol": symbol, "interestRate": f"{0.0001 * state.hours[row] / 8:.8f}", "time": request.now_ms,
             "fundingIntervalHours": int(state.hours[row]), "fundingFeeCap": funding_cap("aster"),
             "fundingFeeFloor": -funding_cap("aster")}
            for row, symbol in symbols.items() if asked in (None, "", symbol)
        ])  # fmt: skip

    def _settled(self, rows: list[int], start: int, end: int, count: int) -> Settled:
        """Settlements in [start, end] in order of time."""
        listings = self.world.universe.listings
        found: Settled = []
        for row in rows:
            mine = settlements(self.world, row, end, count)
            found += [(at, listings[row].symbol, rate) for at, rate, _ in mine if at >= start]
        return sorted(found)

    def funding_rate(self, request: Request) -> Response:
        """GET fundingRate: one symbol's or all symbols' settlements, ascending: from a start, else the newest."""
        symbol = request.query.get("symbol")
        if symbol and symbol not in self.by_symbol["futures"]:
            return failure(-1121, "Invalid symbol.")
        try:
            start, end, limit = (whole(request.query, name) for name in ("startTime", "endTime", "limit"))
        except ValueError as error:
            return failure(-1100, f"Illegal characters found in parameter '{error}'.")
        count = min(max(1, limit or 100), 1000)
        until = min(end if end is not None else request.now_ms, request.now_ms)
        hours = 8 * count if start is None else (until - start) // 3_600_000 + 2
        if symbol:
            found = self._settled([self.by_symbol["futures"][symbol]], start or 0, until, max(1, min(hours, 50_000)))
        else:
            # All symbols settle within eight hours: no more than the newest of each can be among the newest rows.
            began = max(start or 0, until - _DAY_MS)
            found = self._settled(self.futures, began, until, max(1, min(hours, 24)))
        shown = found[:count] if start is not None else found[-count:]
        return json_response([{"symbol": name, "fundingRate": f"{rate:.8f}", "fundingTime": at}
                            for at, name, rate in shown])  # fmt: skip

    def index_references(self, request: Request) -> Response:
        """GET indexreferences: the components of a symbol's index price."""
        symbol = request.query.get("symbol")
        if not symbol:
            return failure(-1102, NO_SYMBOL)
        row = self.by_symbol["futures"].get(symbol)
        if row is None:
            return failure(-1000, "Invalid symbol.")
        return json_response({"symbol": symbol, "time": request.now_ms, "references": [
            {"exchange": _NAMES.get(venue, venue), "symbol": _PAIRS.get(venue, "{}{}").format(base, quote),
             "weight": f"{weight:.8f}"}
            for venue, base, quote, weight in constituents(self.world, row, request.now_ms // 60_000)
        ]})  # fmt: skip

    def endpoints(self) -> list[Endpoint]:
        """All paths of the venue."""
        world, futures = self.world, "aster_futures"
        return [
            Endpoint("aster", FAPI, "/fapi/v1/exchangeInfo", lambda request: futures_info(world, request), futures, 1),
            Endpoint("aster", FAPI, "/fapi/v1/ticker/24hr", self.tickers("futures"), futures, 40),
            Endpoint("aster", FAPI, "/fapi/v1/premiumIndex", self.premium_index, futures, 1),
            Endpoint("aster", FAPI, "/fapi/v1/fundingInfo", self.funding_info, futures, 1),
            Endpoint("aster", FAPI, "/fapi/v1/fundingRate", self.funding_rate, futures, 1),
            Endpoint("aster", FAPI, "/fapi/v1/openInterest", self.open_interest, futures, 1),
            Endpoint("aster", FAPI, "/fapi/v1/klines", self.klines("futures"), futures, 1),
            Endpoint("aster", FAPI, "/fapi/v3/indexreferences", self.index_references, futures, 1),
            Endpoint("aster", SAPI, "/api/v1/exchangeInfo", lambda request: spot_info(world, request), "aster_spot", 1),
            Endpoint("aster", SAPI, "/api/v1/ticker/24hr", self.spot_tickers, "aster_spot", 40),
            Endpoint("aster", SAPI, "/api/v1/klines", self.spot_klines, "aster_spot", 2),
        ]

    def spot_tickers(self, request: Request) -> Response:
        """GET ticker/24hr, spot: the same weight as the futures'."""
        found: Response = self.tickers("spot")(request)
        return dataclasses.replace(found, weight=1 if request.query.get("symbol") else 40)

    def spot_klines(self, request: Request) -> Response:
        """GET klines, spot: as the futures' without the twelfth field."""
        found: Response = self.klines("spot")(request)
        return json_response([row[:11] for row in orjson.loads(found.body)]) if found.status == 200 else found


def endpoints(world: World) -> list[Endpoint]:
    """The endpoints of Aster."""
    return Aster(world).endpoints()


def frames(world: World, minute: int) -> list[Frame]:
    """forceOrder frames of the markets that have a book."""
    out = []
    for event in liquidations_of(world, "aster", minute, WINDOW_MS):
        if event.listing.group:
            continue
        due = (event.ts // WINDOW_MS + 1) * WINDOW_MS
        body = {"e": "forceOrder", "E": due, "o": streams.order(world, event)}
        out.append((due, event.listing.symbol, orjson.dumps(body)))
    return out


def sockets(app: Sanic[Any, Any], sandbox: Sandbox) -> None:
    """Plain /ws and /stream."""
    streams.add_stream_paths(app, sandbox, f"/{STREAMS}")


def headers(pool: str, used: int) -> dict[str, str]:
    """The used weight of the minute."""
    return {"X-MBX-USED-WEIGHT-1M": str(used)}


SIMULATED = SimulatedVenue(
    venue="aster",
    hosts=(FAPI, SAPI, STREAMS),
    pools={"aster_futures": Pool(2400, 60_000), "aster_spot": Pool(6000, 60_000)},
    endpoints=endpoints,
    refusal=binance.refusal,
    headers=headers,
    sockets=sockets,
    frames=frames,
    liquidation_window_ms=WINDOW_MS,
)
