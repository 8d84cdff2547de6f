"""Binance's exchangeInfo, futures and spot: the instruments with their filters."""

from typing import Any

from sandbox.market.listing import NEVER_MS, Listing
from sandbox.market.world import World
from sandbox.wire.endpoint import Request, Response, json_response
from sandbox.wire.numbers import trimmed

_FUTURES_ORDERS = ["LIMIT", "MARKET", "STOP", "STOP_MARKET", "TAKE_PROFIT", "TAKE_PROFIT_MARKET",
                   "TRAILING_STOP_MARKET"]  # fmt: skip
_SPOT_ORDERS = ["LIMIT", "LIMIT_MAKER", "MARKET", "STOP_LOSS", "STOP_LOSS_LIMIT", "TAKE_PROFIT", "TAKE_PROFIT_LIMIT"]
SETTLING_MS = 30 * 86_400_000  # how long a delisted market stays listed as SETTLING


def _limit(kind: str, interval: str, number: int, limit: int) -> dict[str, Any]:
    return {"rateLimitType": kind, "interval": interval, "intervalNum": number, "limit": limit}


def _contract_type(one: Listing, now_ms: int) -> str:
    if one.type == "perp":
        return "PERPETUAL"
    return "CURRENT_QUARTER" if one.delisted_ms - now_ms < 92 * 86_400_000 else "NEXT_QUARTER"


def _futures_symbol(one: Listing, category: str, now_ms: int) -> dict[str, Any]:
    tick, lot = trimmed(10.0**-one.decimals, one.decimals), trimmed(10.0**-one.lot_decimals, one.lot_decimals)
    settling = one.delisted_ms <= now_ms
    announced = one.type == "future" or one.delisted_ms - now_ms < 14 * 86_400_000
    return {
        "symbol": one.symbol, "pair": one.base_raw + one.quote, "contractType": _contract_type(one, now_ms),
        "deliveryDate": one.delisted_ms if announced else NEVER_MS, "onboardDate": one.listed_ms,
        "status": "SETTLING" if settling else "TRADING",
        "maintMarginPercent": "2.5000", "requiredMarginPercent": "5.0000",
        "baseAsset": one.base_raw, "quoteAsset": one.quote, "marginAsset": one.quote,
        "pricePrecision": one.decimals, "quantityPrecision": one.lot_decimals,
        "baseAssetPrecision": 8, "quotePrecision": 8,
        "underlyingType": "COIN", "underlyingSubType": [category],
        "triggerProtect": "0.0500", "liquidationFee": "0.015000", "marketTakeBound": "0.05",
        "maxMoveOrderLimit": 10000,
        "filters": [
            {"filterType": "PRICE_FILTER", "minPrice": tick, "maxPrice": "1000000", "tickSize": tick},
            {"filterType": "LOT_SIZE", "minQty": lot, "maxQty": "10000000", "stepSize": lot},
            {"filterType": "MARKET_LOT_SIZE", "minQty": lot, "maxQty": "1000000", "stepSize": lot},
            {"filterType": "MAX_NUM_ORDERS", "limit": 200},
            {"filterType": "MAX_NUM_ALGO_ORDERS", "limit": 10},
            {"filterType": "MIN_NOTIONAL", "notional": "5"},
            {"filterType": "PERCENT_PRICE", "multiplierUp": "1.0500", "multiplierDown": "0.9500",
             "multiplierDecimal": "4"},
            {"filterType": "POSITION_RISK_CONTROL", "positionControlSide": "NONE"},
        ],
        "orderTypes": _FUTURES_ORDERS, "timeInForce": ["GTC", "IOC", "FOK", "GTX", "GTD"],
        "permissionSets": ["GRID", "COPY"],
    }  # fmt: skip


def _spot_symbol(one: Listing, now_ms: int) -> dict[str, Any]:
    tick, lot = f"{10.0**-one.decimals:.8f}", f"{10.0**-one.lot_decimals:.8f}"
    return {
        "symbol": one.symbol, "status": "TRADING" if now_ms < one.delisted_ms else "BREAK",
        "baseAsset": one.base_raw, "baseAssetPrecision": 8, "quoteAsset": one.quote, "quotePrecision": 8,
        "quoteAssetPrecision": 8, "baseCommissionPrecision": 8, "quoteCommissionPrecision": 8,
        "orderTypes": _SPOT_ORDERS, "icebergAllowed": True, "ocoAllowed": True,
        "quoteOrderQtyMarketAllowed": True, "isSpotTradingAllowed": True, "isMarginTradingAllowed": True,
        "filters": [
            {"filterType": "PRICE_FILTER", "minPrice": tick, "maxPrice": "1000000.00000000", "tickSize": tick},
            {"filterType": "LOT_SIZE", "minQty": lot, "maxQty": "9000000.00000000", "stepSize": lot},
            {"filterType": "ICEBERG_PARTS", "limit": 10},
            {"filterType": "MARKET_LOT_SIZE", "minQty": "0.00000000", "maxQty": "900000.00000000",
             "stepSize": "0.00000000"},
            {"filterType": "MAX_NUM_ALGO_ORDERS", "maxNumAlgoOrders": 5},
        ],
    }  # fmt: skip


def _shown(world: World, kind: tuple[str, ...], now_ms: int, keep_ms: int) -> list[Listing]:
    rows = [world.universe.listings[row] for row in world.universe.rows("binance", *kind)]
    return [one for one in rows if one.listed_ms <= now_ms < one.delisted_ms + keep_ms]


def futures_info(world: World, request: Request) -> Response:
    """GET /fapi/v1/exchangeInfo."""
    category = {asset.name: asset.category for asset in world.universe.assets}
    shown = [one for one in _shown(world, ("perp", "future"), request.now_ms, SETTLING_MS) if not one.inverse]
    assets = ("USDT", "BTC", "BNB", "ETH", "USDC", "FDUSD", "BNFCR", "BFUSD", "LDUSDT")
    return json_response({
        "timezone": "UTC", "serverTime": request.now_ms, "futuresType": "U_MARGINED",
        "rateLimits": [_limit("REQUEST_WEIGHT", "MINUTE", 1, 2400), _limit("ORDERS", "MINUTE", 1, 1200),
                       _limit("ORDERS", "SECOND", 10, 300)],
        "exchangeFilters": [],
        "assets": [{"asset": name, "marginAvailable": True, "autoAssetExchange": "-10000"} for name in assets],
        "symbols": [
            _futures_symbol(one, category[one.coin], request.now_ms)
            for one in shown if one.type == "perp" or request.now_ms < one.delisted_ms
        ],
    })  # fmt: skip


def coin_margined_info(world: World, request: Request) -> Response:
    """GET /dapi/v1/exchangeInfo."""
    category = {asset.name: asset.category for asset in world.universe.assets}
    shown = [one for one in _shown(world, ("perp",), request.now_ms, SETTLING_MS) if one.inverse]
    symbols = []
    for one in shown:
        body = _futures_symbol(one, category[one.coin], request.now_ms)
        settling = body.pop("status")
        del body["permissionSets"]
        lacking = ("MIN_NOTIONAL", "POSITION_RISK_CONTROL")
        body["filters"] = [one for one in body["filters"] if one["filterType"] not in lacking]
        body |= {"pair": one.base_raw + one.quote, "contractStatus": settling, "contractSize": int(one.contract_size),
                 "marginAsset": one.base_raw, "quantityPrecision": 0, "equalQtyPrecision": 4}  # fmt: skip
        symbols.append(body)
    return json_response({
        "timezone": "UTC", "serverTime": request.now_ms, "exchangeFilters": [],
        "rateLimits": [_limit("REQUEST_WEIGHT", "MINUTE", 1, 2400), _limit("ORDERS", "MINUTE", 1, 1200)],
        "symbols": symbols,
    })  # fmt: skip


def spot_info(world: World, request: Request) -> Response:
    """GET /api/v3/exchangeInfo."""
    shown = _shown(world, ("spot",), request.now_ms, SETTLING_MS)
    return json_response({
        "timezone": "UTC", "serverTime": request.now_ms,
        "rateLimits": [_limit("REQUEST_WEIGHT", "MINUTE", 1, 6000), _limit("ORDERS", "SECOND", 10, 100),
                       _limit("ORDERS", "DAY", 1, 200000), _limit("RAW_REQUESTS", "MINUTE", 5, 61000)],
        "exchangeFilters": [],
        "symbols": [_spot_symbol(one, request.now_ms) for one in shown],
    }, weight=20)  # fmt: skip
