"""Binance's options on the wire (eapi): contracts, marks, 24 h tickers, open interest of an expiry, index."""

from datetime import UTC, datetime
from math import isnan
from typing import Any

from sandbox.derived.chain import Chain, chain
from sandbox.market.world import World
from sandbox.venues.binance.market import NO_SYMBOL, failure
from sandbox.wire.endpoint import Endpoint, Request, Response, json_response
from sandbox.wire.numbers import trimmed

EAPI, POOL = "eapi.binance.com", "binance_eapi"
HELD = {"BTC": 11_000.0, "ETH": 85_000.0}
"""Open interest of all options together, in coins, by coin; a contract is one coin."""
LIMIT = 400


def day_of(expiry_ms: int) -> str:
    """260327"""
    return f"{datetime.fromtimestamp(expiry_ms / 1000, UTC):%y%m%d}"


def instruments(of: Chain) -> list[str]:
    """The venue's name of each option, as BTC-260327-90000-C."""
    columns = (of.expiry_ms.tolist(), of.strike.tolist(), of.call.tolist())
    return [
        f"{of.coin}-{day_of(expiry)}-{trimmed(strike, 3)}-{'C' if call else 'P'}"
        for expiry, strike, call in zip(*columns, strict=True)
    ]


class Options:
    """The endpoints over one world."""

    def __init__(self, world: World) -> None:
        self.world = world

    def _chain(self, coin: str, now_ms: int) -> Chain:
        return chain(self.world, "binance", coin, now_ms // 60_000, HELD[coin])

    def exchange_info(self, request: Request) -> Response:
        """GET exchangeInfo."""
        shown = []
        for coin in HELD:
            found = self._chain(coin, request.now_ms)
            columns = (found.expiry_ms.tolist(), found.strike.tolist(), found.call.tolist())
            for name, expiry, strike, call in zip(instruments(found), *columns, strict=True):
                shown.append({
                    "expiryDate": expiry, "symbol": name, "side": "CALL" if call else "PUT",
                    "strikePrice": f"{strike:.8f}", "underlying": f"{coin}USDT", "unit": 1,
                    "liquidationFeeRate": "0.0019000", "minQty": "0.01", "maxQty": "500",
                    "initialMargin": "0.15000000", "maintenanceMargin": "0.07500000",
                    "minInitialMargin": "0.10000000", "minMaintenanceMargin": "0.05000000", "priceScale": 1,
                    "quantityScale": 2, "quoteAsset": "USDT", "filters": [
                        {"filterType": "PRICE_FILTER", "minPrice": "0.1", "maxPrice": "80000.1", "tickSize": "0.1"},
                        {"filterType": "LOT_SIZE", "minQty": "0.01", "maxQty": "500", "stepSize": "0.01"},
                    ],
                })  # fmt: skip
        contracts = [{"baseAsset": coin, "quoteAsset": "USDT", "underlying": f"{coin}USDT", "settleAsset": "USDT"}
                     for coin in HELD]  # fmt: skip
        limits = [{"rateLimitType": "REQUEST_WEIGHT", "interval": "MINUTE", "intervalNum": 1, "limit": LIMIT}]
        return json_response({
            "timezone": "UTC", "serverTime": request.now_ms, "optionContracts": contracts,
            "optionAssets": [{"name": "USDT"}], "optionSymbols": shown, "rateLimits": limits,
        })  # fmt: skip

    def _all(self, request: Request) -> list[tuple[str, dict[str, float]]]:
        wanted, out = request.query.get("symbol"), []
        for coin in HELD:
            found = self._chain(coin, request.now_ms)
            names = ("strike", "mark_iv", "bid_iv", "ask_iv", "price", "delta", "gamma", "vega", "theta", "volume_24h")
            columns = [getattr(found, name).tolist() for name in names]
            for option, *values in zip(instruments(found), *columns, strict=True):
                if wanted in (None, "", option):
                    row = dict(zip(names, values, strict=True))
                    out.append((option, row | {"index": found.index}))
        return out

    def mark(self, request: Request) -> Response:
        """GET mark; a side without any offer has the volatility -1."""
        out = []
        for option, one in self._all(request):
            price = max(one["price"], 0.1)
            bid = "-1.0" if isnan(one["bid_iv"]) else f"{one['bid_iv']:.8f}"
            out.append({
                "symbol": option, "markPrice": f"{price:.3f}", "bidIV": bid, "askIV": f"{one['ask_iv']:.8f}",
                "markIV": f"{one['mark_iv']:.8f}", "delta": f"{one['delta']:.8f}", "theta": f"{one['theta']:.8f}",
                "gamma": f"{one['gamma']:.8f}", "vega": f"{one['vega']:.8f}", "highPriceLimit": f"{price * 1.2:.3f}",
                "lowPriceLimit": f"{price * 0.8:.3f}", "riskFreeInterest": "0.0",
            })  # fmt: skip
        return json_response(out)

    def ticker(self, request: Request) -> Response:
        """GET ticker: contracts and USDT of the last 24 hours."""
        out = []
        for option, one in self._all(request):
            price, volume = max(one["price"], 0.1), round(one["volume_24h"], 2)
            out.append({
                "symbol": option, "priceChange": trimmed(price * 0.02, 3), "priceChangePercent": "0.0204",
                "lastPrice": f"{price:.3f}", "lastQty": "0.10", "open": f"{price * 0.98:.3f}",
                "high": f"{price * 1.05:.3f}", "low": f"{price * 0.95:.3f}", "volume": trimmed(volume, 2),
                "amount": trimmed(volume * price, 4), "bidPrice": f"{price * 0.99:.3f}",
                "askPrice": f"{price * 1.01:.3f}", "openTime": request.now_ms - 86_400_000, "closeTime": request.now_ms,
                "firstTradeId": 1, "tradeCount": int(volume * 8), "strikePrice": trimmed(one["strike"], 3),
                "exercisePrice": f"{one['index']:.8f}",
            })  # fmt: skip
        return json_response(out, weight=1 if request.query.get("symbol") else 5)

    def open_interest(self, request: Request) -> Response:
        """GET openInterest of one coin and expiry."""
        coin, day = request.query.get("underlyingAsset", ""), request.query.get("expiration", "")
        if not coin or not day:
            return failure(-1102, NO_SYMBOL.replace("symbol", "expiration" if coin else "underlyingAsset"))
        if coin not in HELD:
            return failure(-1121, "Invalid symbol.")
        found = self._chain(coin, request.now_ms)
        columns = (found.expiry_ms.tolist(), found.open_interest.tolist())
        out: list[dict[str, Any]] = [
            {"symbol": name, "sumOpenInterest": trimmed(held, 2),
             "sumOpenInterestUsd": trimmed(round(held, 2) * found.index, 8), "timestamp": str(request.now_ms)}
            for name, expiry, held in zip(instruments(found), *columns, strict=True) if day_of(expiry) == day
        ]  # fmt: skip
        return json_response(out) if out else failure(-1130, "Data sent for parameter 'expiration' is not valid.")

    def index(self, request: Request) -> Response:
        """GET index."""
        coin = request.query.get("underlying", "").removesuffix("USDT")
        if coin not in HELD:
            return failure(-1121, "Invalid symbol.")
        return json_response({"time": request.now_ms, "indexPrice": f"{self._chain(coin, request.now_ms).index:.8f}"})


def endpoints(world: World) -> list[Endpoint]:
    """The paths of the options."""
    one = Options(world)
    return [
        Endpoint("binance", EAPI, "/eapi/v1/exchangeInfo", one.exchange_info, POOL, 1),
        Endpoint("binance", EAPI, "/eapi/v1/mark", one.mark, POOL, 5),
        Endpoint("binance", EAPI, "/eapi/v1/ticker", one.ticker, POOL, 5),
        Endpoint("binance", EAPI, "/eapi/v1/openInterest", one.open_interest, POOL, 1),
        Endpoint("binance", EAPI, "/eapi/v1/index", one.index, POOL, 1),
    ]
