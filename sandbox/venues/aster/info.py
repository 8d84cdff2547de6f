"""Aster's exchangeInfo, futures and spot: the instruments with their filters."""

from typing import Any

from sandbox.market.listing import NEVER_MS, Listing
from sandbox.market.world import World
from sandbox.wire.endpoint import Request, Response, json_response
from sandbox.wire.numbers import trimmed

_ORDERS = ["LIMIT", "MARKET", "STOP", "STOP_MARKET", "TAKE_PROFIT", "TAKE_PROFIT_MARKET"]
_FORCE = ["GTC", "IOC", "FOK", "GTX", "HIDDEN"]
SETTLING_MS = 30 * 86_400_000  # how long a delisted market stays listed
PENDING_MS = 3 * 86_400_000  # how long before it trades a market is listed


def _limit(kind: str, interval: str, number: int, limit: int) -> dict[str, Any]:
    return {"rateLimitType": kind, "interval": interval, "intervalNum": number, "limit": limit}


def _status(one: Listing, now_ms: int) -> str:
    return "PENDING_TRADING" if now_ms < one.listed_ms else "SETTLING" if now_ms >= one.delisted_ms else "TRADING"


def _filters(one: Listing, notional: dict[str, Any]) -> list[dict[str, Any]]:
    tick, lot = trimmed(10.0**-one.decimals, one.decimals), trimmed(10.0**-one.lot_decimals, one.lot_decimals)
    return [
        {"filterType": "PRICE_FILTER", "minPrice": tick, "maxPrice": "1000000", "tickSize": tick},
        {"filterType": "LOT_SIZE", "minQty": lot, "maxQty": "10000000", "stepSize": lot},
        {"filterType": "MARKET_LOT_SIZE", "minQty": lot, "maxQty": "1000000", "stepSize": lot},
        {"filterType": "MAX_NUM_ORDERS", "limit": 200},
        {"filterType": "MIN_NOTIONAL", **notional},
    ]


def _perp(one: Listing, category: str, now_ms: int) -> dict[str, Any]:
    announced = one.delisted_ms - now_ms < 14 * 86_400_000
    more = [
        {"filterType": "MAX_NUM_ALGO_ORDERS", "limit": 100},
        {"filterType": "PERCENT_PRICE", "multiplierUp": "1.1500", "multiplierDown": "0.8500", "multiplierDecimal": 4},
    ]
    return {
        "symbol": one.symbol, "pair": one.symbol, "contractType": "PERPETUAL",
        "deliveryDate": one.delisted_ms if announced else NEVER_MS, "onboardDate": one.listed_ms,
        "status": _status(one, now_ms), "maintMarginPercent": "2.5000", "requiredMarginPercent": "5.0000",
        "baseAsset": one.base_raw, "quoteAsset": one.quote, "marginAsset": one.quote,
        "pricePrecision": one.decimals, "quantityPrecision": one.lot_decimals,
        "baseAssetPrecision": 8, "quotePrecision": 8, "underlyingType": "COIN", "underlyingSubType": [category],
        "settlePlan": 0, "triggerProtect": "0.1500", "liquidationFee": "0.010000", "marketTakeBound": "0.30",
        "filters": _filters(one, {"notional": "5"}) + more,
        "orderTypes": [*_ORDERS, "TRAILING_STOP_MARKET"], "timeInForce": _FORCE,
    }  # fmt: skip


def _spot(one: Listing, now_ms: int) -> dict[str, Any]:
    more = [
        {"filterType": "MAX_NOTIONAL", "maxNotional": "1000000"},
        {"filterType": "PERCENT_PRICE", "multiplierDown": "0", "multiplierUp": "5", "multiplierDecimal": "0"},
    ]
    return {
        "status": _status(one, now_ms), "baseAsset": one.base_raw, "quoteAsset": one.quote,
        "pricePrecision": one.decimals, "quantityPrecision": one.lot_decimals, "baseAssetPrecision": 8,
        "quotePrecision": 8, "filters": _filters(one, {"minNotional": "5"}) + more, "orderTypes": _ORDERS,
        "timeInForce": _FORCE, "symbol": one.symbol, "ocoAllowed": False,
    }  # fmt: skip


def _shown(world: World, kind: str, now_ms: int) -> list[Listing]:
    rows = [world.universe.listings[row] for row in world.universe.rows("aster", kind)]
    return [one for one in rows
            if not one.group and one.listed_ms - PENDING_MS <= now_ms < one.delisted_ms + SETTLING_MS]  # fmt: skip


def futures_info(world: World, request: Request) -> Response:
    """GET /fapi/v1/exchangeInfo."""
    category = {asset.name: asset.category for asset in world.universe.assets}
    return json_response({
        "timezone": "UTC", "serverTime": request.now_ms,
        "rateLimits": [_limit("REQUEST_WEIGHT", "MINUTE", 1, 2400), _limit("ORDERS", "MINUTE", 1, 1200)],
        "exchangeFilters": [],
        "assets": [{"asset": name, "marginAvailable": name != "BTC", "autoAssetExchange": None if name == "BTC" else 0}
                   for name in ("USDT", "BTC", "USDF")],
        "symbols": [_perp(one, category[one.coin], request.now_ms) for one in _shown(world, "perp", request.now_ms)],
    })  # fmt: skip


def spot_info(world: World, request: Request) -> Response:
    """GET /api/v1/exchangeInfo."""
    return json_response({
        "timezone": "UTC", "serverTime": request.now_ms,
        "rateLimits": [_limit("REQUEST_WEIGHT", "MINUTE", 1, 6000), _limit("ORDERS", "MINUTE", 1, 6000),
                       _limit("ORDERS", "SECOND", 10, 300)],
        "exchangeFilters": [], "assets": [{"asset": name} for name in ("USD1", "USDT", "BNB")],
        "symbols": [_spot(one, request.now_ms) for one in _shown(world, "spot", request.now_ms)],
    })  # fmt: skip
