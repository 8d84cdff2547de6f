"""MEXC: perpetuals (USDT, USDC and coin-margined) and spot. It publishes neither liquidations nor positions' ratios."""

import re
from collections.abc import Iterator
from typing import Any

from ingest.declaration.endpoint import Ask, Bars, Body, Each, Endpoint, Keys, Pool, Venue
from ingest.declaration.legs import legs
from ingest.declaration.quotes import in_dollars

API = "api.mexc.com"
CONTRACT, SPOT = "/api/v1/contract", "/api/v3"
REFUSED = re.compile(r'^\s*\{\s*"success"\s*:\s*false')
MINUTE_S, HOUR = 60, 3600


def _traded(body: Body) -> Iterator[tuple[str, float]]:
    # amount24 counts the settle currency: coins where the contract is coin-margined.
    rows = body["data"]
    return (
        (row["symbol"], row["amount24"] * (row["fairPrice"] if row["symbol"].endswith("_USD") else 1.0)) for row in rows
    )


def _held_legs(body: Body) -> Iterator[tuple[str, float]]:
    # Contracts at their price; how much one is stands in the list of contracts.
    for row in body["data"]:
        if row["symbol"].endswith("_USDT"):
            held = float(row["holdVol"] or 0) * float(row["fairPrice"] or 0)
            yield from ((leg, held) for leg in legs(row["symbol"].removesuffix("_USDT")))


def _leg_contracts(body: Body) -> Iterator[tuple[str, float]]:
    for row in body["data"]:
        if row["symbol"].endswith("_USDT"):
            yield from ((leg, float(row["contractSize"])) for leg in legs(row["symbol"].removesuffix("_USDT")))


def _not_trading(body: Body) -> Iterator[tuple[str, float]]:
    return ((row["symbol"], 0.0) for row in body["data"] if row["state"] != 0)


def _spot_in_dollars(body: Body) -> Iterator[tuple[str, float]]:
    return ((row["symbol"], float(row["quoteVolume"] or 0)) for row in body if in_dollars(row["symbol"]))


def _spot_not_trading(body: Body) -> Iterator[tuple[str, float]]:
    return ((row["symbol"], 0.0) for row in body["symbols"] if row["status"] != "1")


def _fault(body: str) -> str | None:
    """The contract API answers 200 also when it refuses (code 510: too frequent)."""
    return body[:200] if REFUSED.match(body[:60]) else None


def _perp_bars(ask: Ask) -> dict[str, Any]:
    # Whole seconds; both ends are inclusive, so the bar that begins with this minute stays out.
    end_s = ask.tick_ms // 1000
    return {"interval": "Min1", "start": end_s - ask.bars * MINUTE_S, "end": end_s - 1}


def _spot_bars(ask: Ask) -> dict[str, Any]:
    return {"symbol": ask.key, "interval": "1m", "limit": ask.bars}


def _ladder(ask: Ask) -> dict[str, Any]:
    return {"symbol": ask.key, "limit": 1000}


def _settlements(ask: Ask) -> dict[str, Any]:
    return {"symbol": ask.key, "page_num": 1, "page_size": 20}


def _perps(top: int, rest_s: int) -> Each:
    return Each(of=Keys("perp_tickers", _traded), without=Keys("instruments", _not_trading), top=top, rest_s=rest_s)


MEXC = Venue(
    name="mexc",
    pools=(
        # Contracts: 20 requests in 2 seconds per path and IP, the list of contracts once in 5 seconds
        # (https://www.mexc.com/api-docs/futures/market-endpoints). Spot: weight 300 in 10 seconds per IP
        # (https://www.mexc.com/api-docs/spot-v3/general-info). A tenth is left to whoever else uses the same address.
        Pool("market", 18, 2, history=2),
        Pool("kline", 18, 2, history=4),
        Pool("settlements", 18, 2, history=4),
        Pool("detail", 1, 5),
        Pool("spot", 270, 10, history=54),
    ),
    # 403 comes from the web firewall in front of the API.
    ban_s={403: 300},
    fault=_fault,
    endpoints=(
        Endpoint("perp_tickers", API, f"{CONTRACT}/ticker", "market"),
        Endpoint("funding", API, f"{CONTRACT}/funding_rate", "market"),
        Endpoint("spot_tickers", API, f"{SPOT}/ticker/24hr", "spot", weight=40),
        Endpoint("instruments", API, f"{CONTRACT}/detail", "detail", every_s=HOUR, timeout_s=20),
        Endpoint("spot_instruments", API, f"{SPOT}/exchangeInfo", "spot", every_s=HOUR, weight=10, timeout_s=30),
        Endpoint(
            "perp_bars",
            API,
            f"{CONTRACT}/kline/{{key}}",
            "kline",
            _perp_bars,
            bars=Bars(most=200),
            each=_perps(100, HOUR),
        ),
        Endpoint(
            "spot_bars",
            API,
            f"{SPOT}/klines",
            "spot",
            _spot_bars,
            bars=Bars(most=200),
            each=Each(
                of=Keys("spot_tickers", _spot_in_dollars),
                without=Keys("spot_instruments", _spot_not_trading),
                top=100,
                rest_s=HOUR,
            ),
        ),
        # The spot pairs of what is held most.
        Endpoint(
            "index_books",
            API,
            f"{SPOT}/depth",
            "spot",
            _ladder,
            every_s=300,
            each=Each(
                of=Keys("perp_tickers", _held_legs, times=Keys("instruments", _leg_contracts)),
                within=Keys("spot_tickers", _spot_in_dollars),
                without=Keys("spot_instruments", _spot_not_trading),
                top=40,
            ),
        ),
        # The newest 20 settlements cover 20 hours even where funding is hourly.
        Endpoint(
            "settlements",
            API,
            f"{CONTRACT}/funding_rate/history",
            "settlements",
            _settlements,
            every_s=300,
            each=_perps(0, 4 * HOUR),
        ),
    ),
)
