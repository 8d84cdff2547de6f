"""Simulated Bitget, the present: instruments, tickers, funding and index components (API v3)."""

from typing import Any

from sandbox.derived.constituents import constituents
from sandbox.derived.ladder import ladder, texts
from sandbox.market.derivatives import next_funding_ms
from sandbox.market.listing import DAY_MS, Listing
from sandbox.market.listings import funding_cap
from sandbox.market.world import World
from sandbox.wire.endpoint import Request, Response, json_response
from sandbox.wire.numbers import trimmed, whole

HOST = "api.bitget.com"
CATEGORIES = {"USDT": "USDT-FUTURES", "USDC": "USDC-FUTURES", "USD": "COIN-FUTURES"}
_ANNOUNCED_MS, _LEAVING_MS, _GONE_MS = 2 * DAY_MS, DAY_MS, 7 * DAY_MS
_EXCHANGES = {"gate": "GATEIO"}


def envelope(data: Any, now_ms: int) -> Response:
    """A result in Bitget's envelope."""
    return json_response({"code": "00000", "msg": "success", "requestTime": now_ms, "data": data})


def failure(code: str, text: str, now_ms: int, status: int = 400) -> Response:
    """An error in Bitget's envelope."""
    return json_response({"code": code, "msg": text, "requestTime": now_ms, "data": None}, status)


def category(one: Listing) -> str:
    """The category of a market."""
    return "SPOT" if one.type == "spot" else CATEGORIES[one.quote]


def _status(one: Listing, now_ms: int) -> str:
    if now_ms < one.listed_ms:
        return "listed" if one.listed_ms - now_ms < _ANNOUNCED_MS else ""
    if now_ms < one.delisted_ms:
        return "limit_open" if one.type == "perp" and one.delisted_ms - now_ms < _LEAVING_MS else "online"
    return "offline" if now_ms < one.delisted_ms + _GONE_MS else ""


class Bitget:
    """The endpoints over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        listings = world.universe.listings
        self.rows: dict[str, list[int]] = {}
        for row in world.universe.rows("bitget", "perp", "future", "spot").tolist():
            self.rows.setdefault(category(listings[row]), []).append(row)
        self.by_symbol = {name: {listings[row].symbol: row for row in rows} for name, rows in self.rows.items()}
        self.perps = {listings[row].symbol: row for row in world.universe.rows("bitget", "perp").tolist()}
        self.kind = {asset.name: asset.kind for asset in world.universe.assets}

    def wanted(self, request: Request) -> list[int] | None:
        """The rows of the requested category, or of one symbol in it; None if there is none."""
        name, symbol = request.query.get("category", ""), request.query.get("symbol")
        if symbol:
            row = self.by_symbol.get(name, {}).get(symbol)
            return None if row is None else [row]
        return self.rows.get(name)

    def instruments(self, request: Request) -> Response:
        """GET /api/v3/market/instruments."""
        rows = self.wanted(request)
        if rows is None:
            return failure("40034", "Parameter does not exist", request.now_ms)
        listings = self.world.universe.listings
        shown = [(listings[row], status) for row in rows if (status := _status(listings[row], request.now_ms))]
        spot = request.query["category"] == "SPOT"
        return envelope([_spot(*one) if spot else self._perp(*one, request.now_ms) for one in shown], request.now_ms)

    def _perp(self, one: Listing, status: str, now_ms: int) -> dict[str, Any]:
        stock = self.kind[one.coin] == "stock"
        hours = [hours for since, hours in one.intervals if since <= now_ms]
        step, lot = (trimmed(10.0**-places, places) for places in (one.decimals, one.lot_decimals))
        dated = one.type == "future"
        delivery = {"deliveryTime": str(one.delisted_ms), "deliveryStartTime": str(one.listed_ms),
                    "deliveryPeriod": "this_quarter"}  # fmt: skip
        return {
            "symbol": one.symbol, "category": category(one), "baseCoin": one.base_raw, "quoteCoin": one.quote,
            "isRwa": "YES" if stock else "NO", "buyLimitPriceRatio": "0.05", "sellLimitPriceRatio": "0.05",
            "feeRateUpRatio": "0.005", "makerFeeRate": "0.0002", "takerFeeRate": "0.0006", "openCostUpRatio": "0.01",
            "minOrderQty": lot, "maxOrderQty": "1200", "pricePrecision": str(one.decimals),
            "quantityPrecision": str(one.lot_decimals), "quotePrecision": "", "priceMultiplier": step,
            "quantityMultiplier": lot, "type": "delivery" if dated else "perpetual", "minOrderAmount": "5",
            "maxSymbolOrderNum": "", "maxProductOrderNum": "400", "maxPositionNum": "200", "status": status,
            "offTime": str(one.delisted_ms) if status in ("limit_open", "offline") else "-1", "limitOpenTime": "-1",
            **(delivery if dated else dict.fromkeys(delivery, "")),
            "launchTime": str(one.listed_ms) if one.volume_usd < 1e7 else "0",
            "fundInterval": str(hours[-1]) if hours else "8", "minLeverage": "1", "maxLeverage": "75",
            "maintainTime": "", "symbolType": "stock" if stock else "crypto", "maxMarketOrderQty": "220",
        }  # fmt: skip

    def tickers(self, request: Request) -> Response:
        """GET /api/v3/market/tickers."""
        rows = self.wanted(request)
        if rows is None:
            return failure("40034", "Parameter does not exist", request.now_ms)
        world, spot = self.world, request.query["category"] == "SPOT"
        state, last = world.minute(request.now_ms // 60_000), world.last(request.now_ms).tolist()
        rows = [row for row in rows if state.listed[row]]
        columns = (state.price_24h, state.high_24h, state.low_24h, state.base_24h, state.quote_24h, state.index,
                   state.mark, state.rate, state.oi)  # fmt: skip
        out = []
        for row, *values in zip(rows, *(column[rows].tolist() for column in columns), strict=True):
            then, high, low, volume, turnover, index, mark, rate, oi = values
            one, now = world.universe.listings[row], last[row]
            price, lot = world.price_format[row], world.lot_format[row]
            step = 1.0 / world.universe.scale[row]
            shown = {
                "category": category(one), "symbol": one.symbol, "ts": str(request.now_ms), "lastPrice": price % now,
                "openPrice24h": price % then, "highPrice24h": price % max(high, now),
                "lowPrice24h": price % min(low, now), "ask1Price": price % now,
                "bid1Price": price % max(now - step, step), "bid1Size": lot % (volume / 8000),
                "ask1Size": lot % (volume / 9000), "price24hPcnt": f"{now / then - 1:.5f}",
                "volume24h": lot % volume, "turnover24h": trimmed(turnover, 8),
            }  # fmt: skip
            if not spot:
                dated = one.type == "future"
                shown |= {
                    "indexPrice": f"{index:.16g}", "markPrice": price % mark,
                    "fundingRate": "0" if dated else trimmed(rate, 10), "openInterest": lot % oi,
                    "deliveryStartTime": str(one.listed_ms) if dated else "",
                    "deliveryTime": str(one.delisted_ms) if dated else "",
                    "deliveryStatus": "delivery_normal" if dated else "",
                }  # fmt: skip
            out.append(shown)
        return envelope(out, request.now_ms)

    def funding(self, request: Request) -> Response:
        """GET /api/v3/market/current-fund-rate."""
        rows = self.wanted(request)
        if rows is None or request.query.get("category") == "SPOT":
            return failure("40034", "Parameter does not exist", request.now_ms)
        state = self.world.minute(request.now_ms // 60_000)
        rows = [row for row in rows if state.listed[row] and state.hours[row]]
        following = next_funding_ms(request.now_ms, state.hours)
        columns = (state.rate, state.hours, following)
        return envelope([
            {"symbol": self.world.universe.listings[row].symbol, "fundingRate": trimmed(rate, 10),
             "fundingRateInterval": str(hours), "nextUpdate": str(due), "minFundingRate": str(-funding_cap("bitget")),
             "maxFundingRate": str(funding_cap("bitget"))}
            for row, rate, hours, due in zip(rows, *(column[rows].tolist() for column in columns), strict=True)
        ], request.now_ms)  # fmt: skip

    def spot_book(self, request: Request) -> Response:
        """GET /api/v2/spot/market/orderbook."""
        row = self.by_symbol["SPOT"].get(request.query.get("symbol", ""))
        if row is None or not self.world.minute(request.now_ms // 60_000).listed[row]:
            return failure("40034", "Parameter does not exist", request.now_ms)
        try:
            levels = min(max(1, whole(request.query, "limit") or 150), 150)
        except ValueError:
            return failure("40020", "Parameter limit error", request.now_ms)
        formats = self.world.price_format[row], self.world.lot_format[row]
        bids, asks = (texts(side, *formats) for side in ladder(self.world, row, levels, request.now_ms))
        return envelope({"asks": asks, "bids": bids, "ts": str(request.now_ms)}, request.now_ms)

    def index_components(self, request: Request) -> Response:
        """GET /api/v3/market/index-components."""
        symbol, minute = request.query.get("symbol", ""), request.now_ms // 60_000
        row = self.perps.get(symbol)
        if row is None or not self.world.minute(minute).listed[row]:
            return failure("40034", f"Parameter {symbol} does not exist", request.now_ms)
        price = f"{self.world.minute(minute).index[row]:.8g}"
        parts = constituents(self.world, row, minute)
        return envelope({"symbol": symbol, "componentList": [
            {"exchange": _EXCHANGES.get(venue, venue.upper()), "spotPair": f"{base}/{quote}", "equivalentPrice": price,
             "weight": trimmed(weight, 4)} for venue, base, quote, weight in parts
        ]}, request.now_ms)  # fmt: skip


def _spot(one: Listing, status: str) -> dict[str, Any]:
    return {
        "symbol": one.symbol, "category": "SPOT", "baseCoin": one.base_raw, "quoteCoin": one.quote,
        "buyLimitPriceRatio": "0.05", "sellLimitPriceRatio": "0.05",
        "minOrderQty": trimmed(10.0**-one.lot_decimals, one.lot_decimals), "maxOrderQty": "0",
        "pricePrecision": str(one.decimals), "quantityPrecision": str(one.lot_decimals), "quotePrecision": "8",
        "minOrderAmount": "1", "maxSymbolOrderNum": "400", "maxProductOrderNum": "400",
        "status": "gray" if status == "listed" else status, "maintainTime": "", "areaSymbol": "no",
        "maxPositionNum": "200", "isReality": "no", "launchTime": str(one.listed_ms),
    }  # fmt: skip
