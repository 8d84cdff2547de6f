"""KuCoin futures on the wire: active contracts, klines, index components, settled funding."""

from typing import Any

from sandbox.derived.constituents import constituents
from sandbox.market.derivatives import next_funding_ms
from sandbox.market.listing import DAY_MS, HOUR_MS, Listing
from sandbox.market.listings import funding_cap
from sandbox.market.world import World
from sandbox.wire.candles import candles
from sandbox.wire.endpoint import Endpoint, Request, Response, json_response
from sandbox.wire.numbers import whole
from sandbox.wire.settlements import settlements

HOST, POOL = "api-futures.kucoin.com", "kucoin"
MINUTE_MS = 60_000
_GRANULARITIES = (1, 5, 15, 30, 60, 120, 240, 480, 720, 1440, 10080)
_MOST_CANDLES, _MOST_SETTLEMENTS = 500, 100
_PERPETUAL = "FFWCSX"


def success(data: Any) -> Response:
    """Data in KuCoin's envelope."""
    return json_response({"code": "200000", "data": data})


def failure(code: int, text: str, status: int = 400) -> Response:
    """An error in KuCoin's envelope."""
    return json_response({"code": str(code), "msg": text}, status)


def index_symbol(one: Listing) -> str:
    """The index of a contract; the inverse ones follow those without a quote."""
    return f".K{one.base_raw}{'' if one.inverse else one.quote}"


def lots(one: Listing, raw_units: float, price: float) -> int:
    """A size in raw base units as lots: an inverse contract's lot is 1 USD."""
    return round(raw_units * price if one.inverse else raw_units / one.contract_size)


class Futures:
    """The endpoints over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        listings = world.universe.listings
        self.rows = world.universe.rows("kucoin", "perp").tolist()
        self.by_symbol = {listings[row].symbol: row for row in self.rows}
        self.by_index = {index_symbol(listings[row]): row for row in self.rows}

    def active(self, request: Request) -> Response:
        """GET contracts/active; a contract whose end has come is there for another day, being settled."""
        world, listings = self.world, self.world.universe.listings
        state, last = world.minute(request.now_ms // MINUTE_MS), world.last(request.now_ms).tolist()
        following = next_funding_ms(request.now_ms, state.hours)
        rows = [
            row for row in self.rows if listings[row].listed_ms <= request.now_ms < listings[row].delisted_ms + DAY_MS
        ]
        columns = (state.price_24h, state.high_24h, state.low_24h, state.mark, state.index, state.oi, state.quote_24h,
                   state.base_24h, state.rate, state.hours, following, state.listed)  # fmt: skip
        out = []
        for row, *values in zip(rows, *(column[rows].tolist() for column in columns), strict=True):
            then, high, low, mark, index, oi, quote, base, rate, hours, settles, listed = values
            one, now = listings[row], last[row]
            digits = one.decimals
            out.append(_contract(one) | {
                "status": "Open" if listed else "BeingSettled",
                "expireDate": None if request.now_ms < one.delisted_ms else one.delisted_ms,
                "fundingFeeRate": round(rate, 6), "lastTimeFundingRate": round(rate, 6),
                "fundingRateGranularity": one.intervals[-1][1] * HOUR_MS,
                "currentFundingRateGranularity": hours * HOUR_MS,
                "nextFundingRateTime": settles - request.now_ms, "nextFundingRateDateTime": settles,
                "openInterest": str(lots(one, oi, mark)),
                # An inverse contract's volume is in USD and its turnover in coins.
                "volumeOf24h": round(quote) if one.inverse else round(base, 4),
                "turnoverOf24h": round(base if one.inverse else quote, 8),
                "markPrice": round(mark, digits + 1), "indexPrice": round(index, digits + 1),
                "lastTradePrice": round(now, digits), "lowPrice": round(min(low, now), digits),
                "highPrice": round(max(high, now), digits), "priceChgPct": round(now / then - 1, 4),
                "priceChg": round(now - then, digits),
            })  # fmt: skip
        return success(out)

    def kline(self, request: Request) -> Response:
        """GET kline/query, oldest first; the last one is running. Minutes are those of the granularity."""
        row = self._row(request)
        if row is None:
            return failure(400100, "symbol parameter invalid")
        try:
            step, start, end = (whole(request.query, name) for name in ("granularity", "from", "to"))
        except ValueError as error:
            return failure(400100, f"{error} parameter invalid")
        if step not in _GRANULARITIES:
            return failure(400100, "granularity parameter invalid")
        found = candles(self.world, row, step, start, end, _MOST_CANDLES, request.now_ms)
        one = self.world.universe.listings[row]
        digits = one.decimals
        return success([
            [at, round(o, digits), round(h, digits), round(low, digits), round(c, digits),
             round(q) if one.inverse else lots(one, v, c)]
            for at, o, h, low, c, v, q, _, _ in found.rows() if end is None or at <= end
        ])  # fmt: skip

    def index(self, request: Request) -> Response:
        """GET index/query: the newest values of an index with what it is made of."""
        row = self.by_index.get(request.query.get("symbol", ""))
        if row is None:
            return failure(400100, "symbol parameter invalid")
        price = float(self.world.minute(request.now_ms // MINUTE_MS).index[row])
        legs = constituents(self.world, row, request.now_ms // MINUTE_MS)
        digits = self.world.universe.listings[row].decimals + 2
        value = {
            "symbol": request.query["symbol"], "granularity": 1000, "timePoint": request.now_ms // 1000 * 1000,
            "value": round(price, digits),
            "decomposionList": [{"exchange": venue, "price": round(price, digits), "weight": round(weight, 8)}
                                for venue, _, _, weight in legs],
        }  # fmt: skip
        return success({"dataList": [value], "hasMore": True})

    def settled(self, request: Request) -> Response:
        """GET contract/funding-rates between two times, newest first; null if there is none."""
        row = self._row(request)
        if row is None:
            return failure(400100, "symbol parameter invalid")
        try:
            start, end = whole(request.query, "from"), whole(request.query, "to")
        except ValueError as error:
            return failure(400100, f"{error} parameter invalid")
        if start is None or end is None:
            return failure(400100, "from and to are required")
        found = settlements(self.world, row, min(end, request.now_ms), _MOST_SETTLEMENTS)
        symbol = request.query["symbol"]
        rows = [
            {"symbol": symbol, "fundingRate": round(rate, 6), "timepoint": at} for at, rate, _ in found if at >= start
        ]
        return success(rows or None)

    def _row(self, request: Request) -> int | None:
        row = self.by_symbol.get(request.query.get("symbol", ""))
        return row if row is not None and self.world.universe.listed[row] * MINUTE_MS <= request.now_ms else None


def _contract(one: Listing) -> dict[str, Any]:
    """What does not change from minute to minute."""
    coin = one.base_raw
    return {
        "symbol": one.symbol, "rootSymbol": coin if one.inverse else one.quote, "type": _PERPETUAL,
        "firstOpenDate": one.listed_ms, "settleDate": None, "baseCurrency": coin, "displayBaseCurrency": coin,
        "quoteCurrency": one.quote, "settleCurrency": coin if one.inverse else one.quote, "maxOrderQty": 1_000_000,
        "maxPrice": 1_000_000.0, "lotSize": 1, "tickSize": 10.0**-one.decimals, "indexPriceTickSize": 0.01,
        "multiplier": -1.0 if one.inverse else one.contract_size, "initialMargin": 0.02, "maintainMargin": 0.01,
        "maxRiskLimit": 100_000, "minRiskLimit": 100_000, "riskStep": 50_000, "makerFeeRate": 0.0002,
        "takerFeeRate": 0.0006, "takerFixFee": 0.0, "makerFixFee": 0.0, "settlementFee": None, "isDeleverage": True,
        "isQuanto": not one.inverse, "isInverse": one.inverse, "markMethod": "FairPrice", "fairMethod": "FundingRate",
        "fundingBaseSymbol": f".{coin}INT8H", "fundingQuoteSymbol": f".{one.quote}INT8H",
        "fundingRateSymbol": f".{one.symbol}FPI8H", "indexSymbol": index_symbol(one), "settlementSymbol": "",
        "predictedFundingFeeRate": None, "dailyInterestRate": 0.0003, "fundingRateCap": funding_cap(one.venue),
        "fundingRateFloor": -funding_cap(one.venue), "effectiveFundingRateCycleStartTime": one.listed_ms,
        "maxLeverage": 50,
        "sourceExchanges": ["okex", "binance", "kucoin", "gateio", "bybit"], "premiumsSymbol1M": f".{one.symbol}PI",
        "premiumsSymbol8H": f".{one.symbol}PI8H", "fundingBaseSymbol1M": f".{coin}INT",
        "fundingQuoteSymbol1M": f".{one.quote}INT", "marketStage": "NORMAL", "marketType": "CRYPTO",
        "assetClass": "CRYPTO",
    }  # fmt: skip


def endpoints(world: World) -> list[Endpoint]:
    """The futures paths of KuCoin with their weights."""
    futures = Futures(world)
    return [
        Endpoint("kucoin", HOST, "/api/v1/contracts/active", futures.active, POOL, 3),
        Endpoint("kucoin", HOST, "/api/v1/kline/query", futures.kline, POOL, 3),
        Endpoint("kucoin", HOST, "/api/v1/index/query", futures.index, POOL, 2),
        Endpoint("kucoin", HOST, "/api/v1/contract/funding-rates", futures.settled, POOL, 5),
    ]
