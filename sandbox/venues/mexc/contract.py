"""MEXC's contracts on the wire: list, tickers, funding, candles, settlements; sizes are counted in contracts."""

from typing import Any

import numpy as np

from sandbox.market.derivatives import next_funding_ms
from sandbox.market.listing import DAY_MS, Listing
from sandbox.market.listings import funding_cap
from sandbox.market.world import World
from sandbox.wire.candles import INTERVALS, candles
from sandbox.wire.endpoint import Request, Response, json_response
from sandbox.wire.numbers import whole
from sandbox.wire.settlements import settlements

LONGEST = 2000
_ANNOUNCED_MS, _LEAVING_MS, _GONE_MS = 2 * DAY_MS, 3 * DAY_MS, 7 * DAY_MS
_EXCHANGES = {"gate": "GATEIO"}
_DOLLARS = ("USDT", "USDC", "USD")
_STEPS = {f"Min{n}": f"{n}m" for n in (1, 5, 15, 30)} | {"Min60": "1h", "Hour4": "4h", "Hour8": "8h", "Day1": "1d"}


def envelope(data: Any) -> Response:
    """A result in the contract API's envelope."""
    return json_response({"success": True, "code": 0, "data": data})


def failure(code: int, text: str) -> Response:
    """An error; the status stays 200."""
    return json_response({"success": False, "code": code, "message": text})


class Contracts:
    """The endpoints of /api/v1/contract over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        listings = world.universe.listings
        self.rows = world.universe.rows("mexc", "perp").tolist()
        self.by_symbol = {listings[row].symbol: row for row in self.rows}
        self.category = {asset.name: asset.category for asset in world.universe.assets}

    def _wanted(self, request: Request) -> list[int] | None:
        symbol = request.query.get("symbol")
        rows = self.rows if not symbol else [self.by_symbol[symbol]] if symbol in self.by_symbol else None
        listed = self.world.minute(request.now_ms // 60_000).listed
        return None if rows is None else [row for row in rows if listed[row]]

    def ticker(self, request: Request) -> Response:
        """GET ticker: one row, or all of them without a symbol."""
        rows = self._wanted(request)
        if rows is None:
            return failure(1001, "Contract does not exist!")
        world = self.world
        state, last = world.minute(request.now_ms // 60_000), world.last(request.now_ms).tolist()
        columns = (state.price_24h, state.high_24h, state.low_24h, state.base_24h, state.quote_24h, state.index,
                   state.mark, state.rate, state.oi)  # fmt: skip
        out = []
        for row, *values in zip(rows, *(column[rows].tolist() for column in columns), strict=True):
            then, high, low, base, quote, index, mark, rate, oi = values
            one, now = world.universe.listings[row], last[row]
            places, step = one.decimals, 10.0**-one.decimals
            out.append({
                "symbol": one.symbol, "lastPrice": now, "bid1": round(max(now - step, step), places), "ask1": now,
                "volume24": contracts(one, base, quote), "amount24": round(base if one.inverse else quote, 8),
                "holdVol": contracts(one, oi, oi * mark), "lower24Price": min(low, now), "high24Price": max(high, now),
                "riseFallRate": round(now / then - 1, 4), "riseFallValue": round(now - then, places),
                "indexPrice": round(index, places + 1), "fairPrice": round(mark, places + 1),
                "fundingRate": round(rate, 10), "maxBidPrice": round(now * 1.1, places),
                "minAskPrice": round(now * 0.9, places), "timestamp": request.now_ms,
            })  # fmt: skip
        return envelope(out[0] if request.query.get("symbol") else out)

    def funding(self, request: Request) -> Response:
        """GET funding_rate without a symbol: all contracts."""
        rows = self._wanted(request) or []
        state = self.world.minute(request.now_ms // 60_000)
        columns = (state.rate, state.hours, next_funding_ms(request.now_ms, state.hours))
        return envelope([
            {"symbol": self.world.universe.listings[row].symbol, "fundingRate": round(rate, 10),
             "maxFundingRate": funding_cap("mexc"), "minFundingRate": -funding_cap("mexc"), "collectCycle": hours,
             "nextSettleTime": due, "timestamp": request.now_ms}
            for row, rate, hours, due in zip(rows, *(column[rows].tolist() for column in columns), strict=True)
        ])  # fmt: skip

    def funding_history(self, request: Request) -> Response:
        """GET funding_rate/history, newest first, in pages."""
        symbol = request.query.get("symbol", "")
        if symbol not in self.by_symbol:
            return failure(1001, "Contract does not exist!")
        try:
            page, size = whole(request.query, "page_num") or 1, whole(request.query, "page_size") or 20
        except ValueError as error:
            return failure(600, f"Parameter error: {error}")
        size = min(max(1, size), 100)
        row = self.by_symbol[symbol]
        found = settlements(self.world, row, request.now_ms, size * page)
        end = min(request.now_ms // 60_000, int(self.world.universe.delisted[row]))
        total = max(len(found), (end - int(self.world.universe.listed[row])) // 480)
        return envelope({
            "pageSize": size, "totalCount": total, "totalPage": -(-total // size), "currentPage": page,
            "resultList": [{"symbol": symbol, "fundingRate": round(rate, 10), "settleTime": at, "collectCycle": hours}
                           for at, rate, hours in found[size * (page - 1) :]],
        })  # fmt: skip

    def kline(self, request: Request) -> Response:
        """GET kline/{symbol}, oldest first, as columns; times in seconds. The newest rows of a window win."""
        row = self.by_symbol.get(request.query.get("symbol", ""))
        if row is None or self.world.universe.listed[row] * 60_000 > request.now_ms:
            return failure(1001, "Contract does not exist!")
        if (interval := request.query.get("interval", "Min1")) not in _STEPS:
            return failure(600, "Parameter error: interval")
        try:
            start, end = (whole(request.query, name) for name in ("start", "end"))
        except ValueError as error:
            return failure(600, f"Parameter error: {error}")
        step = INTERVALS[_STEPS[interval]]
        width = step * 60_000
        end_ms = request.now_ms if end is None else min(end * 1000, request.now_ms)
        start_ms = None if start is None else max(start * 1000, end_ms // width * width - (LONGEST - 1) * width)
        found = candles(self.world, row, step, start_ms, end_ms, LONGEST, request.now_ms)
        one = self.world.universe.listings[row]
        sizes = found.quote if one.inverse else found.volume
        prices = {"open": found.open, "close": found.close, "high": found.high, "low": found.low}
        return envelope({
            "time": [at // 1000 for at in found.at], **prices,
            "vol": np.rint(np.array(sizes) / one.contract_size).tolist(),
            "amount": found.volume if one.inverse else found.quote,
        })  # fmt: skip

    def detail(self, request: Request) -> Response:
        """GET detail: all contracts, those announced and those just delisted among them."""
        listings, state = self.world.universe.listings, self.world.minute(request.now_ms // 60_000)
        sources = self._sources(state.listed)
        out = []
        for number, row in enumerate(self.rows):
            one = listings[row]
            if one.listed_ms - _ANNOUNCED_MS <= request.now_ms < one.delisted_ms + _GONE_MS:
                origins = sources.get(one.coin, []) or ["MEXC"]
                out.append(_detail(one, number, request.now_ms, origins, self.category[one.coin]))
        return envelope(out)

    def _sources(self, listed: "np.ndarray[Any, Any]") -> dict[str, list[str]]:
        """Coin → exchanges with a dollar spot market of it."""
        found: dict[str, dict[str, None]] = {}
        for row, one in enumerate(self.world.universe.listings):
            if one.type == "spot" and one.quote in _DOLLARS and listed[row]:
                found.setdefault(one.coin, {})[_EXCHANGES.get(one.venue, one.venue.upper())] = None
        return {coin: list(venues) for coin, venues in found.items()}


def contracts(one: Listing, base: float, quote: float) -> int:
    """A size in contracts: of base units, or of US dollars where coins are the margin."""
    return round((quote if one.inverse else base) / one.contract_size)


def _number(value: float) -> float | int:
    return int(value) if value >= 1 else value


def _detail(one: Listing, number: int, now_ms: int, origins: list[str], word: str) -> dict[str, Any]:
    live = now_ms < one.delisted_ms
    shown: dict[str, Any] = {
        "symbol": one.symbol, "displayName": f"{one.symbol}永续", "displayNameEn": f"{one.symbol} PERPETUAL",
        "positionOpenType": 3, "baseCoin": one.base_raw, "quoteCoin": one.quote, "baseCoinName": one.base_raw,
        "quoteCoinName": one.quote, "futureType": 1, "settleCoin": one.base_raw if one.inverse else one.quote,
        "contractSize": _number(one.contract_size), "minLeverage": 1, "maxLeverage": 200,
        "countryConfigContractMaxLeverage": 0, "priceScale": one.decimals, "volScale": 0, "amountScale": 4,
        "priceUnit": _number(round(10.0**-one.decimals, one.decimals)), "volUnit": 1, "minVol": 1, "maxVol": 400000,
        "bidLimitPriceRate": 0.2, "askLimitPriceRate": 0.2, "takerFeeRate": 0.0002, "makerFeeRate": 0,
        "maintenanceMarginRate": 0.004, "initialMarginRate": 0.005, "riskBaseVol": 400000, "riskIncrVol": 400000,
        "riskLongShortSwitch": 0, "riskIncrMmr": 0.005, "riskIncrImr": 0.005, "riskLevelLimit": 1,
        "priceCoefficientVariation": 0.05, "indexOrigin": origins, "state": 0 if live else 3, "isNew": False,
        "isHot": False, "isHidden": False, "conceptPlate": [f"mc-trade-zone-{word}"], "conceptPlateId": [12],
        "riskLimitType": "BY_VOLUME", "maxNumOrders": [200, 50], "marketOrderMaxLevel": 20,
        "marketOrderPriceLimitRate1": 0.2, "marketOrderPriceLimitRate2": 0.005, "triggerProtect": 0.1, "appraisal": 0,
        "showAppraisalCountdown": 0, "automaticDelivery": 0, "apiAllowed": False, "depthStepList": ["0.01", "0.1"],
        "limitMaxVol": 400000, "threshold": 0, "baseCoinIconUrl": f"https://public.mocortech.com/coin/{one.coin}.png",
        "id": 10 + number, "vid": f"{number:032x}", "baseCoinId": f"{number:032x}",
        "createTime": one.listed_ms - 3600000,
        "openingTime": one.listed_ms if number % 3 == 0 or now_ms < one.listed_ms else 0,
        "openingCountdownOption": 1, "showBeforeOpen": True, "isMaxLeverage": False, "isZeroFeeRate": False,
        "riskLimitMode": "INCREASE", "isZeroFeeSymbol": False, "liquidationFeeRate": 0.0002, "feeRateMode": "NORMAL",
        "leverageFeeRates": [], "tieredFeeRates": [], "type": 1, "stopOnlyFair": False,
    }  # fmt: skip
    if one.delisted_ms - now_ms < _LEAVING_MS:
        shown |= {"deliveryTime": one.delisted_ms, "deliveryPriceTrend": 1}
    return shown
