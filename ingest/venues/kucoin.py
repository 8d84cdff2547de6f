"""KuCoin: linear and inverse perpetuals, and spot. It publishes neither liquidations nor long/short ratios."""

import re
from collections.abc import Iterator
from datetime import date
from typing import Any

from ingest.declaration.archive import Archive, Bucket
from ingest.declaration.endpoint import DAY_MS, MINUTE_MS, Bars, Body, Endpoint, FanOut, Keys, Pool, Request
from ingest.declaration.history import STEPS_MS, History, Interval
from ingest.declaration.pairs import in_dollars, legs
from ingest.declaration.venue import Venue

FUTURES, SPOT = "api-futures.kucoin.com", "api.kucoin.com"
CODE = re.compile(r'"code"\s*:\s*"(\d+)"')
MESSAGE = re.compile(r'"msg"\s*:\s*"((?:[^"\\]|\\.)*)"')
HOUR = 3600
PERPETUAL = "FFWCSX"


def _open(body: Body) -> Iterator[dict[str, Any]]:
    return (row for row in body["data"] if row["type"] == PERPETUAL and row["status"] == "Open")


def _perps(body: Body) -> Iterator[tuple[str, float]]:
    # The turnover of an inverse contract is in coins, its volume in USD.
    return (
        (row["symbol"], float(row["volumeOf24h" if row["isInverse"] else "turnoverOf24h"] or 0)) for row in _open(body)
    )


def _held_legs(body: Body) -> Iterator[tuple[str, float]]:
    for row in _open(body):
        if row["quoteCurrency"] == "USDT":
            held = float(row["openInterest"] or 0) * float(row["multiplier"]) * float(row["markPrice"] or 0)
            # Only the futures API calls bitcoin XBT.
            base = "BTC" if row["baseCurrency"] == "XBT" else row["baseCurrency"]
            yield from ((leg, held) for leg in legs(base, "-"))


def _indices(body: Body) -> Iterator[tuple[str, float]]:
    # Only this body names the index of a contract, so the key has both.
    return ((f"{row['symbol']} {row['indexSymbol']}", 0.0) for row in _open(body) if row.get("indexSymbol"))


def _spot_in_dollars(body: Body) -> Iterator[tuple[str, float]]:
    rows = body["data"]["ticker"]
    return ((row["symbol"], float(row["volValue"] or 0)) for row in rows if in_dollars(row["symbol"]))


def _not_trading(body: Body) -> Iterator[tuple[str, float]]:
    return ((row["symbol"], 0.0) for row in body["data"] if not row["enableTrading"])


def _fault(body: str) -> str | None:
    """KuCoin responds with status 200 to some refused requests too; the code says so."""
    found = CODE.search(body[:200]) or CODE.search(body[-200:])
    if found is None or found[1] == "200000":
        return None
    message = MESSAGE.search(body)
    return f"code {found[1]}: {message[1] if message else ''}"


def _perp_candles(request: Request) -> dict[str, Any]:
    return {
        "symbol": request.key,
        "granularity": 1,
        "from": request.tick_ms - request.bars * MINUTE_MS,
        "to": request.tick_ms,
    }


def _spot_candles(request: Request) -> dict[str, Any]:
    # Seconds; the end is exclusive.
    begin = (request.tick_ms - request.bars * MINUTE_MS) // 1000
    return {"symbol": request.key, "type": "1min", "startAt": begin, "endAt": request.tick_ms // 1000}


def _settled(request: Request) -> dict[str, Any]:
    return {"symbol": request.key, "from": request.tick_ms - 2 * DAY_MS, "to": request.tick_ms}


INTERVAL_NAMES: dict[Interval, str] = {"1m": "1min", "5m": "5min", "1h": "1hour", "1d": "1day"}


def _perp_bar_history(interval: Interval, top: int, days: int) -> History:
    return History(
        "perp_bars",
        interval,
        FUTURES,
        "/api/v1/kline/query",
        "public",
        lambda piece: {
            "symbol": piece.key,
            "granularity": STEPS_MS[interval] // MINUTE_MS,
            "from": piece.begin_ms,
            "to": piece.end_ms - 1,
        },
        lambda body: [int(row[0]) for row in body["data"]],
        # 500 rows at present, 200 according to older documents.
        most=200,
        order="span",
        days=days,
        weight=3,
        top=top,
    )


def _spot_bar_history(interval: Interval, top: int, days: int) -> History:
    return History(
        "spot_bars",
        interval,
        SPOT,
        "/api/v1/market/candles",
        "public",
        # Seconds; the end is exclusive.
        lambda piece: {
            "symbol": piece.key,
            "type": INTERVAL_NAMES[interval],
            "startAt": piece.begin_ms // 1000,
            "endAt": piece.end_ms // 1000,
        },
        lambda body: [int(row[0]) * 1000 for row in body["data"]],
        most=1500,
        order="span",
        days=days,
        weight=3,
        top=top,
    )


def _open_interest_history(interval: Interval, days: int) -> History:
    return History(
        "open_interest_history",
        interval,
        SPOT,
        "/api/ua/v1/market/open-interest",
        "public",
        lambda piece: {
            "symbol": piece.key,
            "interval": INTERVAL_NAMES[interval],
            "startAt": piece.begin_ms,
            "endAt": piece.end_ms - 1,
            "pageSize": piece.rows,
        },
        lambda body: [int(row["ts"]) for row in body["data"] or []],
        most=200,
        order="span",
        days=days,
        weight=10,
        like="perp_bars",
        top=50,
    )


def _archive(endpoint: str, folder: str, like: str = "perp_bars") -> Archive:
    host = "historical-data.kucoin.com"
    return Archive(
        endpoint,
        host,
        Bucket(host, "/", lambda name, month: [f"data/{folder.format(name)}/"]),
        re.compile(r"-(\d{4}-\d{2}-\d{2})\.zip$"),
        "day",
        "archive",
        date(2022, 12, 1),
        0,
        like,
        top=50,
        # Spot pairs are written without a hyphen, and bitcoin's contracts as BTC.
        name_of=lambda symbol: symbol.replace("XBT", "BTC").replace("-", ""),
        checksum="md5",
    )


KUCOIN = Venue(
    name="kucoin",
    # Public requests share 2000 weight in 30 seconds per IP, futures and spot; each page names its endpoint's weight
    # (https://www.kucoin.com/docs-new/rate-limit). A tenth is reserved for other clients at the same address.
    # No limit is stated for the files of the archive.
    pools=(Pool("public", 1800, 30, history=360), Pool("archive", 1200, 60, history=1200)),
    # 403 is the web firewall.
    ban_s={403: 300},
    fault=_fault,
    endpoints=(
        # One body for everything about the perpetuals: prices, volume, open interest, funding, contract sizes, listing.
        Endpoint("perp_tickers", FUTURES, "/api/v1/contracts/active", "public", weight=3, timeout_s=20),
        Endpoint("spot_tickers", SPOT, "/api/v1/market/allTickers", "public", weight=15),
        Endpoint("spot_instruments", SPOT, "/api/v2/symbols", "public", every_s=HOUR, weight=4, timeout_s=20),
        Endpoint(
            "perp_bars",
            FUTURES,
            "/api/v1/kline/query",
            "public",
            _perp_candles,
            weight=3,
            bars=Bars(most=200),
            fan_out=FanOut(of=Keys("perp_tickers", _perps), top=100, rest_s=HOUR),
        ),
        Endpoint(
            "spot_bars",
            SPOT,
            "/api/v1/market/candles",
            "public",
            _spot_candles,
            weight=3,
            bars=Bars(most=200),
            fan_out=FanOut(
                of=Keys("spot_tickers", _spot_in_dollars),
                without=Keys("spot_instruments", _not_trading),
                top=100,
                rest_s=HOUR,
            ),
        ),
        # The spot pairs of the perps with the highest open interest; more than 100 levels need an API key.
        Endpoint(
            "index_books",
            SPOT,
            "/api/v1/market/orderbook/level2_100",
            "public",
            lambda request: {"symbol": request.key},
            every_s=300,
            weight=4,
            fan_out=FanOut(
                of=Keys("perp_tickers", _held_legs),
                within=Keys("spot_tickers", _spot_in_dollars),
                without=Keys("spot_instruments", _not_trading),
                top=40,
            ),
        ),
        Endpoint(
            "index_components",
            FUTURES,
            "/api/v1/index/query",
            "public",
            lambda request: {"symbol": request.key.split(" ")[1], "maxCount": 1},
            weight=2,
            every_s=300,
            fan_out=FanOut(of=Keys("perp_tickers", _indices), top=0, rest_s=HOUR),
        ),
        Endpoint(
            "settlements",
            FUTURES,
            "/api/v1/contract/funding-rates",
            "public",
            _settled,
            weight=5,
            every_s=300,
            fan_out=FanOut(of=Keys("perp_tickers", _perps), top=0, rest_s=HOUR),
        ),
    ),
    history=(
        _perp_bar_history("1m", 50, 1),
        _spot_bar_history("1m", 50, 1),
        _open_interest_history("5m", 2),
        _perp_bar_history("1d", 300, 400),
        _spot_bar_history("1d", 300, 400),
        History(
            "settlements",
            None,
            FUTURES,
            "/api/v1/contract/funding-rates",
            "public",
            lambda piece: {"symbol": piece.key, "from": piece.begin_ms, "to": piece.end_ms - 1},
            lambda body: [row["timepoint"] for row in body["data"] or []],
            most=100,
            order="newest",
            days=400,
            weight=5,
            top=150,
        ),
        # https://www.kucoin.com/docs-new/3476287e0: weight 10, at most 200 rows.
        _open_interest_history("1h", 30),
        _perp_bar_history("1h", 100, 90),
        _spot_bar_history("1h", 50, 90),
    ),
    archives=(
        _archive("perp_minutes_history", "futures/daily/klines/{}/1m"),
        _archive("spot_minutes_history", "spot/daily/klines/{}/1m", "spot_bars"),
        _archive("funding_history", "futures/daily/fundingRates/{}"),
    ),
)
