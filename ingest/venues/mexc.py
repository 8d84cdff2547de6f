"""MEXC: perpetuals (USDT, USDC and coin-margined) and spot. It publishes neither liquidations nor positions' ratios."""

import re
from collections.abc import Iterator
from typing import Any

from ingest.declaration.endpoint import Bars, Body, Endpoint, FanOut, Keys, Pool, Request
from ingest.declaration.history import History, Interval
from ingest.declaration.pairs import in_dollars, legs
from ingest.declaration.venue import Venue

API = "api.mexc.com"
REFUSED = re.compile(r'^\s*\{\s*"success"\s*:\s*false')
MINUTE_S, HOUR = 60, 3600


def _traded(body: Body) -> Iterator[tuple[str, float]]:
    # amount24 counts the settle currency: coins where the contract is coin-margined.
    rows = body["data"]
    return (
        (row["symbol"], row["amount24"] * (row["fairPrice"] if row["symbol"].endswith("_USD") else 1.0)) for row in rows
    )


def _held_legs(body: Body) -> Iterator[tuple[str, float]]:
    # Open contracts times their price; the size of a contract is in the list of contracts.
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
    """The contract API responds with status 200 to refused requests too (code 510: too frequent)."""
    return body[:200] if REFUSED.match(body[:60]) else None


def _perp_bars(request: Request) -> dict[str, Any]:
    # Whole seconds; both ends are inclusive, so the bar that begins with this minute stays out.
    end_s = request.tick_ms // 1000
    return {"interval": "Min1", "start": end_s - request.bars * MINUTE_S, "end": end_s - 1}


def _spot_bars(request: Request) -> dict[str, Any]:
    return {"symbol": request.key, "interval": "1m", "limit": request.bars}


def _ladder(request: Request) -> dict[str, Any]:
    return {"symbol": request.key, "limit": 1000}


def _settlements(request: Request) -> dict[str, Any]:
    return {"symbol": request.key, "page_num": 1, "page_size": 20}


def _perps(top: int, rest_s: int) -> FanOut:
    return FanOut(of=Keys("perp_tickers", _traded), without=Keys("instruments", _not_trading), top=top, rest_s=rest_s)


def _perp_bar_history(interval: Interval, top: int, days: int) -> History:
    return History(
        "perp_bars",
        interval,
        API,
        lambda piece: f"/api/v1/contract/kline/{piece.key}",
        "kline",
        # Seconds, both ends inclusive.
        lambda piece: {
            "interval": {"1m": "Min1", "1h": "Min60", "1d": "Day1"}[interval],
            "start": piece.begin_ms // 1000,
            "end": piece.end_ms // 1000 - 1,
        },
        lambda body: [second * 1000 for second in body["data"]["time"]],
        most=1000,
        order="span",
        days=days,
        top=top,
    )


def _spot_bar_history(interval: Interval, top: int, days: int) -> History:
    return History(
        "spot_bars",
        interval,
        API,
        "/api/v3/klines",
        "spot",
        lambda piece: {
            "symbol": piece.key,
            "interval": {"1m": "1m", "1h": "60m", "1d": "1d"}[interval],
            "startTime": piece.begin_ms,
            "endTime": piece.end_ms - 1,
            "limit": piece.rows,
        },
        lambda body: [int(row[0]) for row in body],
        most=500,
        order="span",
        days=days,
        top=top,
    )


MEXC = Venue(
    name="mexc",
    pools=(
        # Contracts: 20 requests in 2 seconds per path and IP, the list of contracts once in 5 seconds
        # (https://www.mexc.com/api-docs/futures/market-endpoints). Spot: weight 300 in 10 seconds per IP
        # (https://www.mexc.com/api-docs/spot-v3/general-info). A tenth is reserved for other
        # clients at the same address.
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
        Endpoint("perp_tickers", API, "/api/v1/contract/ticker", "market"),
        Endpoint("funding", API, "/api/v1/contract/funding_rate", "market"),
        Endpoint("spot_tickers", API, "/api/v3/ticker/24hr", "spot", weight=40),
        Endpoint("instruments", API, "/api/v1/contract/detail", "detail", every_s=HOUR, timeout_s=20),
        Endpoint("spot_instruments", API, "/api/v3/exchangeInfo", "spot", every_s=HOUR, weight=10, timeout_s=30),
        Endpoint(
            "perp_bars",
            API,
            "/api/v1/contract/kline/{key}",
            "kline",
            _perp_bars,
            bars=Bars(most=200),
            fan_out=_perps(100, HOUR),
        ),
        Endpoint(
            "spot_bars",
            API,
            "/api/v3/klines",
            "spot",
            _spot_bars,
            bars=Bars(most=200),
            fan_out=FanOut(
                of=Keys("spot_tickers", _spot_in_dollars),
                without=Keys("spot_instruments", _spot_not_trading),
                top=100,
                rest_s=HOUR,
            ),
        ),
        # The spot pairs of the perps with the highest open interest.
        Endpoint(
            "index_books",
            API,
            "/api/v3/depth",
            "spot",
            _ladder,
            every_s=300,
            fan_out=FanOut(
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
            "/api/v1/contract/funding_rate/history",
            "settlements",
            _settlements,
            every_s=300,
            fan_out=_perps(0, 4 * HOUR),
        ),
    ),
    history=(
        _perp_bar_history("1m", 50, 1),
        _spot_bar_history("1m", 50, 1),
        _perp_bar_history("1d", 300, 400),
        _spot_bar_history("1d", 300, 400),
        History(
            "settlements",
            None,
            API,
            "/api/v1/contract/funding_rate/history",
            "settlements",
            lambda piece: {"symbol": piece.key, "page_num": piece.page, "page_size": 100},
            lambda body: [row["settleTime"] for row in body["data"]["resultList"]],
            most=100,
            order="pages",
            days=180,
            top=100,
        ),
        _perp_bar_history("1h", 100, 90),
        _spot_bar_history("1h", 50, 90),
    ),
)
