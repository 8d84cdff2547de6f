"""Bybit v5 on the wire: instruments, tickers and klines of the categories linear, inverse and spot."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

from sandbox.market.derivatives import next_funding_ms
from sandbox.market.listing import Listing
from sandbox.market.listings import funding_cap
from sandbox.market.world import World
from sandbox.wire.candles import INTERVALS, candles
from sandbox.wire.endpoint import Endpoint, Request, Response, json_response
from sandbox.wire.numbers import trimmed, whole

HOST = "api.bybit.com"
CLOSED_MS = 30 * 86_400_000  # how long a delisted instrument is listed as Closed
_STEPS = {"D": "1d"} | {str(minutes): name for name, minutes in INTERVALS.items() if minutes < 1440}


def envelope(result: dict[str, Any], now_ms: int) -> Response:
    """A result in Bybit's envelope."""
    return json_response({"retCode": 0, "retMsg": "OK", "result": result, "retExtInfo": {}, "time": now_ms})


def failure(code: int, message: str, now_ms: int) -> Response:
    """An error in Bybit's envelope; the status stays 200."""
    body = {"retCode": code, "retMsg": message, "result": {}, "retExtInfo": {}, "time": now_ms}
    return json_response(body)


class Bybit:
    """The endpoints over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        listings = world.universe.listings
        contracts = sorted(world.universe.rows("bybit", "perp", "future").tolist(), key=lambda n: listings[n].symbol)
        self.rows = {
            "linear": [row for row in contracts if not listings[row].inverse],
            "inverse": [row for row in contracts if listings[row].inverse],
            "spot": world.universe.rows("bybit", "spot").tolist(),
        }
        self.by_symbol = {kind: {listings[row].symbol: row for row in rows} for kind, rows in self.rows.items()}
        self.category = {asset.name: asset.category for asset in world.universe.assets}

    def tickers(self, request: Request) -> Response:
        """GET /v5/market/tickers."""
        category = request.query.get("category", "")
        if category not in self.rows:
            return failure(10001, "params error: Category is invalid", request.now_ms)
        rows = self.rows[category]
        if symbol := request.query.get("symbol"):
            if symbol not in self.by_symbol[category]:
                return failure(10001, "params error: symbol invalid", request.now_ms)
            rows = [self.by_symbol[category][symbol]]
        state = self.world.minute(request.now_ms // 60_000)
        rows = [row for row in rows if state.listed[row]]
        shown = self._spot(rows, request.now_ms) if category == "spot" else self._perps(rows, request.now_ms)
        return envelope({"category": category, "list": shown}, request.now_ms)

    def _perps(self, rows: list[int], now_ms: int) -> list[dict[str, Any]]:
        world = self.world
        state, last = world.minute(now_ms // 60_000), world.last(now_ms).tolist()
        following = next_funding_ms(now_ms, state.hours).tolist()
        columns = (state.price_24h, state.price_1h, state.high_24h, state.low_24h, state.mark, state.index, state.oi,
                   state.quote_24h, state.base_24h, state.rate, state.hours)  # fmt: skip
        out = []
        for row, *values in zip(rows, *(column[rows].tolist() for column in columns), strict=True):
            then, hour, high, low, mark, index, oi, turnover, volume, rate, hours = values
            one, now = world.universe.listings[row], last[row]
            price, lot = world.price_format[row], world.lot_format[row]
            dated = one.type == "future"
            step = 1.0 / world.universe.scale[row]
            # Sizes of an inverse contract are in USD, its values and its turnover in coins.
            if one.inverse:
                lot, oi, turnover, volume = "%.0f", float(round(oi * mark)), volume, turnover
            value = oi / mark if one.inverse else oi * mark
            held = lot % oi
            # Bybit counts both sides in openInterest; the single* fields came on 2026-06-11.
            out.append({
                "symbol": one.symbol, "lastPrice": price % now, "indexPrice": price % index,
                "markPrice": price % mark, "prevPrice24h": price % then,
                "price24hPcnt": trimmed(now / then - 1, 6), "highPrice24h": price % max(high, now),
                "lowPrice24h": price % min(low, now), "prevPrice1h": price % hour,
                "openInterest": lot % (2 * oi), "openInterestValue": f"{2 * value:.2f}",
                "singleOpenInterest": held, "singleOpenInterestValue": f"{value:.2f}",
                "turnover24h": f"{turnover:.4f}", "volume24h": lot % volume,
                "fundingRate": "" if dated else trimmed(rate, 10),
                "nextFundingTime": "0" if dated else str(following[row]),
                "fundingIntervalHour": "" if dated else str(hours),
                "predictedDeliveryPrice": "0.00" if dated else "",
                "basisRate": f"{mark / index - 1:.8f}" if dated else "",
                "deliveryFeeRate": "0" if dated else "",
                "deliveryTime": str(one.delisted_ms) if dated else "0",
                "ask1Size": lot % (volume / 9000), "bid1Price": price % max(now - step, step),
                "ask1Price": price % now, "bid1Size": lot % (volume / 8000),
                "basis": f"{mark - index:.4f}" if dated else "",
            })  # fmt: skip
        return out

    def _spot(self, rows: list[int], now_ms: int) -> list[dict[str, Any]]:
        world = self.world
        state, last = world.minute(now_ms // 60_000), world.last(now_ms).tolist()
        columns = (state.price_24h, state.high_24h, state.low_24h, state.index, state.quote_24h, state.base_24h)
        out = []
        for row, *values in zip(rows, *(column[rows].tolist() for column in columns), strict=True):
            then, high, low, index, turnover, volume = values
            one, now = world.universe.listings[row], last[row]
            price, lot = world.price_format[row], world.lot_format[row]
            step = 1.0 / world.universe.scale[row]
            shown: dict[str, Any] = {
                "symbol": one.symbol, "bid1Price": price % max(now - step, step), "bid1Size": lot % (volume / 8000),
                "ask1Price": price % now, "ask1Size": lot % (volume / 9000), "lastPrice": price % now,
                "prevPrice24h": price % then, "price24hPcnt": f"{now / then - 1:.4f}",
                "highPrice24h": price % max(high, now), "lowPrice24h": price % min(low, now),
                "turnover24h": trimmed(turnover, 8), "volume24h": trimmed(volume, one.lot_decimals),
            }  # fmt: skip
            if one.coin in ("BTC", "ETH", "SOL", "XRP") and one.quote in ("USDT", "USDC"):
                shown["usdIndexPrice"] = f"{index:.6f}"
            out.append(shown)
        return out

    def instruments(self, request: Request) -> Response:
        """GET /v5/market/instruments-info; contracts are paged by an opaque cursor, spot is one page."""
        category = request.query.get("category", "")
        if category not in self.rows:
            return failure(10001, "params error: Category is invalid", request.now_ms)
        try:
            limit = whole(request.query, "limit")
            cursor = unquote(unquote(request.query.get("cursor", "")))
            after = int(cursor.removeprefix("first=").split("&")[0]) if cursor else 0
        except ValueError:
            return failure(10001, "params error: cursor or limit invalid", request.now_ms)
        listings = self.world.universe.listings
        shown = [
            (row, status) for row in self.rows[category]
            if (status := _status(listings[row], request.now_ms)) and status == request.query.get("status", status)
            and request.query.get("symbol", listings[row].symbol) == listings[row].symbol
        ]  # fmt: skip
        if category == "spot":
            found = [_spot_instrument(listings[row], status) for row, status in shown]
            return envelope({"category": "spot", "list": found}, request.now_ms)
        count = min(max(1, limit or 500), 1000)
        page = shown[after : after + count]
        more = after + count < len(shown)
        cursor = quote(f"first={after + count}&last={len(shown)}", safe="") if more else ""
        found = [self._contract(row, status, request.now_ms) for row, status in page]
        return envelope({"category": category, "list": found, "nextPageCursor": cursor}, request.now_ms)

    def _contract(self, row: int, status: str, now_ms: int) -> dict[str, Any]:
        one = self.world.universe.listings[row]
        hours = [hours for since, hours in one.intervals if since <= now_ms]
        tick, lot = trimmed(10.0**-one.decimals, one.decimals), trimmed(10.0**-one.lot_decimals, one.lot_decimals)
        return {
            "symbol": one.symbol, "contractType": ("Inverse" if one.inverse else "Linear")
            + ("Futures" if one.type == "future" else "Perpetual"),
            "status": status, "baseCoin": one.base_raw, "quoteCoin": one.quote, "launchTime": str(one.listed_ms),
            "deliveryTime": str(one.delisted_ms) if one.type == "future" or status == "Closed" else "0",
            "deliveryFeeRate": "", "priceScale": str(one.decimals),
            "leverageFilter": {"minLeverage": "1", "maxLeverage": "50.00", "leverageStep": "0.01"},
            "priceFilter": {"minPrice": tick, "maxPrice": "1999999.98", "tickSize": tick},
            "lotSizeFilter": {"maxOrderQty": "1000000", "maxMktOrderQty": "100000", "minOrderQty": lot,
                              "qtyStep": lot, "postOnlyMaxOrderQty": "1000000", "minNotionalValue": "5"},
            "unifiedMarginTrade": True, "fundingInterval": hours[-1] * 60 if hours else 480,
            "settleCoin": one.base_raw if one.inverse else one.quote,
            "copyTrading": "both" if one.type == "perp" else "none",
            "upperFundingRate": str(funding_cap(one.venue)), "lowerFundingRate": str(-funding_cap(one.venue)),
            "isPreListing": False, "preListingInfo": None, "symbolType": "",
        }  # fmt: skip

    def kline(self, request: Request) -> Response:
        """GET /v5/market/kline, newest first; the first row is the running candle."""
        category, symbol = request.query.get("category", "linear"), request.query.get("symbol", "")
        if category not in self.rows:
            return failure(10001, "params error: Category is invalid", request.now_ms)
        row = self.by_symbol[category].get(symbol)
        if row is None or self.world.universe.listed[row] * 60_000 > request.now_ms:
            return failure(10001, "params error: symbol invalid", request.now_ms)
        if request.query.get("interval") not in _STEPS:
            return failure(10001, "params error: interval invalid", request.now_ms)
        try:
            start, end, limit = (whole(request.query, name) for name in ("start", "end", "limit"))
        except ValueError as error:
            return failure(10001, f"params error: {error} invalid", request.now_ms)
        count = min(max(1, limit or 200), 1000)
        step = INTERVALS[_STEPS[request.query["interval"]]]
        # With start and end the newest rows of the window win; a start alone counts from there.
        if start is not None and end is not None:
            start = max(
                start, min(end, request.now_ms) // (step * 60_000) * step * 60_000 - (count - 1) * step * 60_000
            )
        found = candles(self.world, row, step, start, end, count, request.now_ms)
        price, lot = self.world.price_format[row], self.world.lot_format[row]
        inverse = self.world.universe.listings[row].inverse
        rows = [[str(at), price % o, price % h, price % low, price % c,
                 *((f"{q:.0f}", trimmed(v, 8)) if inverse else (lot % v, trimmed(q, 8)))]
                for at, o, h, low, c, v, q, _, _ in found.rows()]  # fmt: skip
        return envelope({"symbol": symbol, "category": category, "list": rows[::-1]}, request.now_ms)


def _status(one: Listing, now_ms: int) -> str:
    if now_ms < one.listed_ms or now_ms >= one.delisted_ms + CLOSED_MS:
        return ""
    return "Trading" if now_ms < one.delisted_ms else "Closed"


def _spot_instrument(one: Listing, status: str) -> dict[str, Any]:
    step = trimmed(10.0**-one.lot_decimals, one.lot_decimals)
    return {
        "symbol": one.symbol, "baseCoin": one.base_raw, "quoteCoin": one.quote, "innovation": "0", "status": status,
        "marginTrading": "utaOnly", "stTag": "0",
        "lotSizeFilter": {"basePrecision": step, "quotePrecision": "0.00000001", "minOrderQty": step,
                          "maxOrderQty": "1000000", "minOrderAmt": "1", "maxOrderAmt": "2000000"},
        "priceFilter": {"tickSize": trimmed(10.0**-one.decimals, one.decimals)},
        "riskParameters": {"priceLimitRatioX": "0.01", "priceLimitRatioY": "0.02"},
    }  # fmt: skip


def endpoints(world: World, option_tickers: Callable[[World, Request], Response]) -> list[Endpoint]:
    """The endpoints of Bybit."""
    bybit = Bybit(world)

    def tickers(request: Request) -> Response:
        return option_tickers(world, request) if request.query.get("category") == "option" else bybit.tickers(request)

    return [
        Endpoint("bybit", HOST, "/v5/market/tickers", tickers, "bybit"),
        Endpoint("bybit", HOST, "/v5/market/instruments-info", bybit.instruments, "bybit"),
        Endpoint("bybit", HOST, "/v5/market/kline", bybit.kline, "bybit"),
    ]
