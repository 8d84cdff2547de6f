"""Bitget: perpetuals of three categories (USDT, USDC, coin-margined) and spot; unified API v3, bars and ratios v2."""

import re
from collections.abc import Iterator
from datetime import date
from typing import Any

import orjson

from ingest.declaration.archive import Archive
from ingest.declaration.endpoint import Bars, Body, Endpoint, FanOut, Keys, Pool, Request, Stream
from ingest.declaration.history import History, Interval, Piece
from ingest.declaration.pairs import in_dollars, legs
from ingest.declaration.venue import Venue

API, STREAMS = "api.bitget.com", "ws.bitget.com"
PERPS = ("USDT-FUTURES", "USDC-FUTURES", "COIN-FUTURES")
NO_DATA = "40054"
"""A symbol that the ratios do not cover: a response without rows, not a failure."""
CODE = re.compile(r'"code"\s*:\s*"(\w+)"')
MOST_RATIOS = 50
HOUR = 3600


def _traded(body: Body) -> Iterator[tuple[str, float]]:
    # Dated futures have a delivery time. Turnover of every category is in (US dollar) quote.
    rows = body["data"]
    return ((row["symbol"], float(row["turnover24h"] or 0)) for row in rows if not row.get("deliveryTime"))


def _traded_in_dollars(body: Body) -> Iterator[tuple[str, float]]:
    return ((symbol, turnover) for symbol, turnover in _traded(body) if in_dollars(symbol))


def _most_traded(body: Body) -> list[tuple[str, float]]:
    """The USDT perps whose ratios are requested."""
    if not body["data"] or body["data"][0]["category"] != "USDT-FUTURES":
        return []
    return sorted(_traded(body), key=lambda row: -row[1])[:MOST_RATIOS]


def _held_legs(body: Body) -> Iterator[tuple[str, float]]:
    for row in body["data"]:
        if row["category"] == "USDT-FUTURES" and not row.get("deliveryTime"):
            held = float(row["openInterest"] or 0) * float(row["markPrice"] or 0)
            yield from ((leg, held) for leg in legs(row["symbol"].removesuffix("USDT")))


def _not_trading(body: Body) -> Iterator[tuple[str, float]]:
    return ((row["symbol"], 0.0) for row in body["data"] if row["status"] in ("listed", "gray", "halt", "offline"))


def _categories(body: Body) -> Iterator[tuple[str, float]]:
    return ((row["category"], 0.0) for row in body["data"][:1])


def category(symbol: str) -> str:
    """The category that a perp's symbol belongs to: BTCUSDT, BTCPERP (USDC) or BTCUSD (coin-margined)."""
    if symbol.endswith("PERP"):
        return "USDC-FUTURES"
    return "COIN-FUTURES" if symbol.endswith("USD") else "USDT-FUTURES"


def _fault(body: str) -> str | None:
    found = CODE.search(body[:200])
    if found is None or found[1] in ("00000", NO_DATA):
        return None
    return f"code {found[1]}: {body[:200]}"


def _by_category(request: Request) -> dict[str, Any]:
    return {"category": request.key}


def _perp_bars(request: Request) -> dict[str, Any]:
    return {"symbol": request.key, "productType": category(request.key), "granularity": "1m", "limit": request.bars}


def _spot_bars(request: Request) -> dict[str, Any]:
    return {"symbol": request.key, "granularity": "1min", "limit": request.bars}


def _ratio(request: Request) -> dict[str, Any]:
    return {"symbol": request.key, "period": "5m"}


def _ladder(request: Request) -> dict[str, Any]:
    return {"symbol": request.key, "type": "step0", "limit": 150}


def _settlements(request: Request) -> dict[str, Any]:
    return {"category": category(request.key), "symbol": request.key, "limit": 20}


def _subscribe(operation: str, categories: list[str]) -> list[str]:
    args = [{"instType": name.lower(), "topic": "liquidation"} for name in categories]
    return [orjson.dumps({"op": operation, "args": args}).decode()]


def _refused(frame: str) -> str | None:
    return f"subscription refused: {frame[:200]}" if '"event":"error"' in frame else None


def _perps(top: int, rest_s: int) -> FanOut:
    return FanOut(of=Keys("perp_tickers", _traded), without=Keys("instruments", _not_trading), top=top, rest_s=rest_s)


ALL_PERPS = FanOut(always=PERPS)


def _bar_times(body: Body) -> list[int]:
    return [int(row[0]) for row in body["data"]]


def _bar_history(endpoint: str, interval: Interval, top: int, days: int) -> History:
    spot = endpoint == "spot_bars"
    named = {"1m": "1min" if spot else "1m", "1h": "1h" if spot else "1H", "1d": "1Dutc"}[interval]

    def params(piece: Piece) -> dict[str, Any]:
        span = {"startTime": piece.begin_ms, "endTime": piece.end_ms - 1, "limit": piece.rows}
        product = {} if spot else {"productType": category(piece.key)}
        return {"symbol": piece.key, "granularity": named, **span, **product}

    return History(
        endpoint,
        interval,
        API,
        "/api/v2/spot/market/history-candles" if spot else "/api/v2/mix/market/history-candles",
        "spot_history" if spot else "perp_history",
        params,
        _bar_times,
        # At most 200 rows, and never more than 90 days
        # (https://www.bitget.com/api-doc/contract/market/Get-History-Candle-Data).
        most=90 if interval == "1d" else 200,
        order="span",
        days=days,
        top=top,
    )


def _archive(endpoint: str, folder: str, first: date) -> Archive:
    # A sheet a market and day or month, two days later; the days begin at 00:00 in UTC+8. The names are those of one of
    # three eras: the exchange documents no other. A path without a file is forbidden.
    return Archive(
        endpoint,
        "img.bitgetimg.com",
        lambda name, day: f"/online/kline/{name}/{folder}/{name}_{folder}_1min_{day:%Y%m%d}.zip",
        re.compile(r"_1min_(\d{6}(?:\d{2})?)\.zip$"),
        "day",
        "archive",
        first,
        0,
        "spot_bars" if folder == "SP" else "perp_bars",
        top=50,
        has=lambda key: folder == "SP" or category(key) == "USDT-FUTURES",
        packing="xlsx",
        months=lambda name, day: f"/online/kline_month/{name}/{folder}/{name}_{folder}_1min_{day:%Y%m}.zip",
        absent=(403, 404),
        zone_h=8,
    )


BITGET = Venue(
    name="bitget",
    # Limits count per path and IP (https://www.bitget.com/docs/uta/quick-start: 20 a second unless the path's page says
    # otherwise, and 6000 a minute over all paths). A tenth is reserved for other clients at the same address.
    pools=(
        Pool("market", 18, 1, history=2),
        Pool("perp_candles", 18, 1),
        Pool("spot_candles", 18, 1),
        Pool("perp_history", 18, 1, history=14),
        Pool("spot_history", 18, 1, history=14),
        Pool("settlements", 18, 1, history=4),
        Pool("spot_books", 18, 1),
        # https://www.bitget.com/docs/catalog/market/market-data: index components 10 a second.
        Pool("index", 9, 1),
        # 1 a second: https://www.bitget.com/api-doc/common/apidata/Account-Long-Short and .../Taker-Buy-Sell
        Pool("account_ratio", 1, 1),
        Pool("taker_ratio", 1, 1),
        Pool("archive", 600, 60, history=600),
    ),
    # 403 comes from the web firewall in front of the API.
    ban_s={403: 300},
    fault=_fault,
    endpoints=(
        Endpoint("perp_tickers", API, "/api/v3/market/tickers", "market", _by_category, fan_out=ALL_PERPS),
        Endpoint("funding", API, "/api/v3/market/current-fund-rate", "market", _by_category, fan_out=ALL_PERPS),
        Endpoint("spot_tickers", API, "/api/v3/market/tickers", "market", {"category": "SPOT"}),
        Endpoint(
            "instruments",
            API,
            "/api/v3/market/instruments",
            "market",
            _by_category,
            every_s=HOUR,
            fan_out=ALL_PERPS,
            timeout_s=20,
        ),
        Endpoint(
            "spot_instruments",
            API,
            "/api/v3/market/instruments",
            "market",
            {"category": "SPOT"},
            every_s=HOUR,
            timeout_s=20,
        ),
        Endpoint(
            "perp_bars",
            API,
            "/api/v2/mix/market/candles",
            "perp_candles",
            _perp_bars,
            bars=Bars(most=200),
            fan_out=_perps(100, HOUR),
        ),
        Endpoint(
            "spot_bars",
            API,
            "/api/v2/spot/market/candles",
            "spot_candles",
            _spot_bars,
            bars=Bars(most=200),
            fan_out=FanOut(
                of=Keys("spot_tickers", _traded_in_dollars),
                without=Keys("spot_instruments", _not_trading),
                top=100,
                rest_s=HOUR,
            ),
        ),
        # One request per second and path: the 50 most traded USDT perps, each every 5 minutes. A response has the last
        # 30 buckets, so that a missed turn loses nothing.
        Endpoint(
            "long_short_accounts",
            API,
            "/api/v2/mix/market/account-long-short",
            "account_ratio",
            _ratio,
            fan_out=FanOut(of=Keys("perp_tickers", _most_traded), top=0, rest_s=300),
        ),
        Endpoint(
            "taker_ratio",
            API,
            "/api/v2/mix/market/taker-buy-sell",
            "taker_ratio",
            _ratio,
            fan_out=FanOut(of=Keys("perp_tickers", _most_traded), top=0, rest_s=300),
        ),
        # The spot pairs of the perps with the highest open interest, down to 150 levels
        # (https://www.bitget.com/api-doc/spot/market/Get-Orderbook).
        Endpoint(
            "index_books",
            API,
            "/api/v2/spot/market/orderbook",
            "spot_books",
            _ladder,
            every_s=300,
            fan_out=FanOut(
                of=Keys("perp_tickers", _held_legs),
                within=Keys("spot_tickers", _traded_in_dollars),
                without=Keys("spot_instruments", _not_trading),
                top=40,
            ),
        ),
        Endpoint(
            "index_components",
            API,
            "/api/v3/market/index-components",
            "index",
            lambda request: {"symbol": request.key},
            every_s=300,
            fan_out=_perps(0, HOUR),
        ),
        # The newest 20 settlements cover 20 hours even where funding is hourly.
        Endpoint(
            "settlements",
            API,
            "/api/v3/market/history-fund-rate",
            "settlements",
            _settlements,
            every_s=300,
            fan_out=_perps(0, 4 * HOUR),
        ),
    ),
    streams=(
        # One push a second with the largest long and the largest short of each pair
        # (https://www.bitget.com/api-doc/uta/websocket/public/Liquidation-Channel). The server ends a connection that
        # has not sent the text `ping` for 2 minutes; its `pong`s count as signs of life.
        Stream(
            "liquidations",
            STREAMS,
            "/v3/ws/public",
            topics=Keys("perp_tickers", _categories),
            subscribe=_subscribe,
            heartbeat="ping",
            heartbeat_s=25,
            skip=lambda frame: frame == "pong",
            refused=_refused,
            silence_s=75,
        ),
    ),
    history=(
        _bar_history("perp_bars", "1m", 50, 1),
        _bar_history("spot_bars", "1m", 50, 1),
        _bar_history("perp_bars", "1d", 300, 400),
        _bar_history("spot_bars", "1d", 300, 400),
        History(
            "settlements",
            None,
            API,
            "/api/v3/market/history-fund-rate",
            "settlements",
            lambda piece: {"category": category(piece.key), "symbol": piece.key, "limit": 100, "cursor": piece.page},
            lambda body: [int(row["fundingRateTimestamp"]) for row in body["data"]["resultList"]],
            most=100,
            order="pages",
            days=180,
            top=100,
        ),
        _bar_history("perp_bars", "1h", 100, 90),
        _bar_history("spot_bars", "1h", 50, 90),
    ),
    archives=(
        _archive("perp_minutes_history", "UMCBL", date(2019, 4, 23)),
        _archive("spot_minutes_history", "SP", date(2018, 7, 25)),
    ),
)
