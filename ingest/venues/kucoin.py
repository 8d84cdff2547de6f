"""KuCoin: linear and inverse perpetuals, and spot. It publishes neither liquidations nor long/short ratios."""

import re
from collections.abc import Iterator
from typing import Any

from ingest.declaration.endpoint import Ask, Bars, Body, Each, Endpoint, Keys, Pool, Venue
from ingest.declaration.legs import legs
from ingest.declaration.quotes import in_dollars

FUTURES, SPOT = "api-futures.kucoin.com", "api.kucoin.com"
CODE = re.compile(r'"code"\s*:\s*"(\d+)"')
MESSAGE = re.compile(r'"msg"\s*:\s*"((?:[^"\\]|\\.)*)"')
MINUTE_MS, HOUR, DAY_MS = 60_000, 3600, 86_400_000
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
            # Futures alone call bitcoin XBT.
            base = "BTC" if row["baseCurrency"] == "XBT" else row["baseCurrency"]
            yield from ((leg, held) for leg in legs(base, "-"))


def _indices(body: Body) -> Iterator[tuple[str, float]]:
    # Which index a contract follows is known here alone, so the key says both.
    return ((f"{row['symbol']} {row['indexSymbol']}", 0.0) for row in _open(body) if row.get("indexSymbol"))


def _spot_in_dollars(body: Body) -> Iterator[tuple[str, float]]:
    rows = body["data"]["ticker"]
    return ((row["symbol"], float(row["volValue"] or 0)) for row in rows if in_dollars(row["symbol"]))


def _not_trading(body: Body) -> Iterator[tuple[str, float]]:
    return ((row["symbol"], 0.0) for row in body["data"] if not row["enableTrading"])


def _fault(body: str) -> str | None:
    """KuCoin answers 200 also to some requests that it refuses: the code says so."""
    found = CODE.search(body[:200]) or CODE.search(body[-200:])
    if found is None or found[1] == "200000":
        return None
    message = MESSAGE.search(body)
    return f"code {found[1]}: {message[1] if message else ''}"


def _perp_candles(ask: Ask) -> dict[str, Any]:
    return {"symbol": ask.key, "granularity": 1, "from": ask.tick_ms - ask.bars * MINUTE_MS, "to": ask.tick_ms}


def _spot_candles(ask: Ask) -> dict[str, Any]:
    # Seconds; the end does not belong to the answer.
    begin = (ask.tick_ms - ask.bars * MINUTE_MS) // 1000
    return {"symbol": ask.key, "type": "1min", "startAt": begin, "endAt": ask.tick_ms // 1000}


def _settled(ask: Ask) -> dict[str, Any]:
    return {"symbol": ask.key, "from": ask.tick_ms - 2 * DAY_MS, "to": ask.tick_ms}


KUCOIN = Venue(
    name="kucoin",
    # Public requests share 2000 weight in 30 seconds per IP, futures and spot; each page names its endpoint's weight
    # (https://www.kucoin.com/docs-new/rate-limit). A tenth is left to whoever else uses the same address.
    pools=(Pool("public", 1800, 30, history=360),),
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
            each=Each(of=Keys("perp_tickers", _perps), top=100, rest_s=HOUR),
        ),
        Endpoint(
            "spot_bars",
            SPOT,
            "/api/v1/market/candles",
            "public",
            _spot_candles,
            weight=3,
            bars=Bars(most=200),
            each=Each(
                of=Keys("spot_tickers", _spot_in_dollars),
                without=Keys("spot_instruments", _not_trading),
                top=100,
                rest_s=HOUR,
            ),
        ),
        # The spot pairs of what is held most; deeper books than 100 levels need a key.
        Endpoint(
            "index_books",
            SPOT,
            "/api/v1/market/orderbook/level2_100",
            "public",
            lambda ask: {"symbol": ask.key},
            every_s=300,
            weight=4,
            each=Each(
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
            lambda ask: {"symbol": ask.key.split(" ")[1], "maxCount": 1},
            weight=2,
            every_s=300,
            each=Each(of=Keys("perp_tickers", _indices), top=0, rest_s=HOUR),
        ),
        Endpoint(
            "settlements",
            FUTURES,
            "/api/v1/contract/funding-rates",
            "public",
            _settled,
            weight=5,
            every_s=300,
            each=Each(of=Keys("perp_tickers", _perps), top=0, rest_s=HOUR),
        ),
    ),
)
