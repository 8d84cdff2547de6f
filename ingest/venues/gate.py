"""Gate: perpetuals settled in USDT and in BTC (the inverse one), and spot (API v4)."""

import re
import time
from collections.abc import Iterator
from datetime import date
from typing import Any

import orjson

from ingest.declaration.archive import Archive, Bucket
from ingest.declaration.endpoint import Bars, Body, Endpoint, FanOut, Keys, Params, Pool, Request, Stream
from ingest.declaration.history import History, Interval, Piece
from ingest.declaration.pairs import in_dollars, legs
from ingest.declaration.venue import Venue

API, STREAMS = "api.gateio.ws", "fx-ws.gateio.ws"
HOUR, FIVE_MINUTES = 3600, 300
LIQUIDATIONS = "futures.public_liquidates"


def _contracts(body: Body) -> Iterator[tuple[str, float]]:
    # Requests per contract are made only for those settled in USDT; there is one other contract.
    rows = (row for row in body if row["contract"].endswith("_USDT"))
    return ((row["contract"], float(row["volume_24h_quote"] or 0)) for row in rows)


def _held_legs(body: Body) -> Iterator[tuple[str, float]]:
    for row in body:
        if row["contract"].endswith("_USDT"):
            held = float(row["total_size"] or 0) * float(row["quanto_multiplier"]) * float(row["mark_price"] or 0)
            yield from ((leg, held) for leg in legs(row["contract"].removesuffix("_USDT"), "_"))


def _everything(body: Body) -> Iterator[tuple[str, float]]:
    return iter([("!all", 0.0)])


def _closed(body: Body) -> Iterator[tuple[str, float]]:
    # Delisted contracts remain in the list for a while, without any position.
    return ((row["name"], 0.0) for row in body if row["in_delisting"] and not float(row["position_size"]))


def _pairs_in_dollars(body: Body) -> Iterator[tuple[str, float]]:
    rows = (row for row in body if in_dollars(row["currency_pair"]))
    return ((row["currency_pair"], float(row["quote_volume"] or 0)) for row in rows)


def _untradable(body: Body) -> Iterator[tuple[str, float]]:
    return ((row["id"], 0.0) for row in body if row["trade_status"] == "untradable")


def _candles(name: str) -> Params:
    return lambda request: {name: request.key, "interval": "1m", "limit": request.bars}


def _stats(request: Request) -> dict[str, Any]:
    # One bucket more than the missing minutes fill, because the newest one is still running.
    return {"contract": request.key, "interval": "5m", "limit": -(-request.bars // 5) + 1}


def _ladder(request: Request) -> dict[str, Any]:
    return {"currency_pair": request.key, "limit": 1000}


def _subscribe(operation: str, symbols: list[str]) -> list[str]:
    message = {"time": int(time.time()), "channel": LIQUIDATIONS, "event": operation, "payload": symbols}
    return [orjson.dumps(message).decode()]


def _refused(frame: str) -> str | None:
    if '"subscribe"' not in frame:
        return None
    message = orjson.loads(frame)
    return f"subscription refused: {message['error']}" if message.get("error") else None


def _perps(top: int) -> FanOut:
    of, without = Keys("perp_tickers", _contracts), Keys("instruments", _closed)
    return FanOut(of=of, without=without, top=top, rest_s=HOUR)


BY_SETTLEMENT = FanOut(always=("usdt", "btc"))
POOLS = ("contracts", "constituents", "pairs", "spot_books")
WITH_HISTORY = ("tickers", "candles", "stats", "funding", "spot_tickers", "spot_candles")


def _bar_history(endpoint: str, interval: Interval, top: int, days: int) -> History:
    spot = endpoint == "spot_bars"
    named = "currency_pair" if spot else "contract"

    def params(piece: Piece) -> dict[str, Any]:
        # Seconds, both ends inclusive; a limit beside them is an error.
        span = {"from": piece.begin_ms // 1000, "to": (piece.end_ms - 1) // 1000}
        return {named: piece.key, "interval": interval, **span}

    def opened(body: Body) -> list[int]:
        return [int(row[0] if spot else row["t"]) * 1000 for row in body]

    return History(
        endpoint,
        interval,
        API,
        "/api/v4/spot/candlesticks" if spot else "/api/v4/futures/usdt/candlesticks",
        "spot_candles" if spot else "candles",
        params,
        opened,
        most=1000,
        order="span",
        days=days,
        top=top,
    )


def _contract_stats(interval: Interval, days: int) -> History:
    return History(
        "contract_stats",
        interval,
        API,
        "/api/v4/futures/usdt/contract_stats",
        "stats",
        lambda piece: {
            "contract": piece.key,
            "interval": interval,
            "from": piece.begin_ms // 1000,
            "limit": piece.rows,
        },
        lambda body: [row["time"] * 1000 for row in body],
        most=1000,
        order="span",
        days=days,
        top=50,
    )


def _archive(endpoint: str, folder: str, like: str = "perp_bars") -> Archive:
    # A folder has the files of all contracts, by month; or of all pairs, by day, of which the list gives one pair's.
    spot = like == "spot_bars"

    def folders(market: str, month: date) -> list[str]:
        return [f"{folder}/{month:%Y%m}/{market}-" if spot else f"{folder}/{month:%Y%m}/"]

    return Archive(
        endpoint,
        "download.gatedata.org",
        # The list is at the bucket itself.
        Bucket("gateio-public-data.s3.ap-northeast-1.amazonaws.com", "/", folders),
        re.compile(r"-(\d{6}(?:\d{2})?)\.csv\.gz$"),
        "day" if spot else "month",
        "archive",
        date(2020, 1, 1),
        0,
        like,
        top=50,
        has=lambda market: spot or market.endswith("_USDT"),
        packing="gzip",
    )


GATE = Venue(
    name="gate",
    # 200 requests in 10 seconds per endpoint and IP (https://www.gate.com/docs/developers/apiv4/en/#frequency-limit-rule);
    # a tenth is reserved for other clients at the same address.
    pools=(
        *(Pool(name, 180, 10) for name in POOLS),
        *(Pool(name, 180, 10, history=36) for name in WITH_HISTORY),
        # No limit is stated for the files.
        Pool("archive", 1200, 60, history=1200),
    ),
    # Without it sizes are truncated to whole contracts, and may be 0 for a contract that trades in fractions.
    headers={"X-Gate-Size-Decimal": "1"},
    endpoints=(
        Endpoint("perp_tickers", API, "/api/v4/futures/{key}/tickers", "tickers", fan_out=BY_SETTLEMENT),
        Endpoint("spot_tickers", API, "/api/v4/spot/tickers", "spot_tickers"),
        # Intervals, contract sizes and delistings: 1.2 MB that change by the hour at most.
        Endpoint(
            "instruments",
            API,
            "/api/v4/futures/{key}/contracts",
            "contracts",
            every_s=HOUR,
            fan_out=BY_SETTLEMENT,
            timeout_s=20,
        ),
        Endpoint("spot_instruments", API, "/api/v4/spot/currency_pairs", "pairs", every_s=HOUR, timeout_s=20),
        Endpoint(
            "perp_bars",
            API,
            "/api/v4/futures/usdt/candlesticks",
            "candles",
            _candles("contract"),
            bars=Bars(most=200),
            fan_out=_perps(100),
        ),
        Endpoint(
            "spot_bars",
            API,
            "/api/v4/spot/candlesticks",
            "spot_candles",
            _candles("currency_pair"),
            bars=Bars(most=200),
            fan_out=FanOut(
                of=Keys("spot_tickers", _pairs_in_dollars),
                without=Keys("spot_instruments", _untradable),
                top=100,
                rest_s=HOUR,
            ),
        ),
        # Long/short ratios, positions and taker flow of a contract in one response.
        Endpoint(
            "contract_stats",
            API,
            "/api/v4/futures/usdt/contract_stats",
            "stats",
            _stats,
            every_s=FIVE_MINUTES,
            bars=Bars(usual=10, most=120, first=120),
            fan_out=_perps(50),
        ),
        # The spot pairs of the perps with the highest open interest.
        Endpoint(
            "index_books",
            API,
            "/api/v4/spot/order_book",
            "spot_books",
            _ladder,
            every_s=FIVE_MINUTES,
            fan_out=FanOut(
                of=Keys("perp_tickers", _held_legs),
                within=Keys("spot_tickers", _pairs_in_dollars),
                without=Keys("spot_instruments", _untradable),
                top=40,
            ),
        ),
        Endpoint(
            "index_components",
            API,
            "/api/v4/futures/usdt/index_constituents/{key}",
            "constituents",
            every_s=300,
            fan_out=_perps(0),
        ),
        Endpoint(
            "settlements",
            API,
            "/api/v4/futures/usdt/funding_rate",
            "funding",
            lambda request: {"contract": request.key, "limit": 24},
            every_s=300,
            fan_out=_perps(0),
        ),
    ),
    streams=(
        # One subscription covers all contracts settled in USDT; every liquidation comes since 2026-08-20
        # (https://www.gate.com/docs/developers/futures/ws/en/#public-liquidates-order-api). Liveness is proved by
        # WebSocket pings, which the venue answers; minutes without a liquidation happen.
        Stream(
            "liquidations",
            STREAMS,
            "/v4/ws/usdt",
            topics=Keys("perp_tickers", _everything),
            subscribe=_subscribe,
            refused=_refused,
            silence_s=1800,
        ),
    ),
    history=(
        _bar_history("perp_bars", "1m", 50, 1),
        _bar_history("spot_bars", "1m", 50, 1),
        _contract_stats("5m", 2),
        _bar_history("perp_bars", "1d", 300, 400),
        _bar_history("spot_bars", "1d", 300, 400),
        History(
            "settlements",
            None,
            API,
            "/api/v4/futures/usdt/funding_rate",
            "funding",
            lambda piece: {
                "contract": piece.key,
                "from": piece.begin_ms // 1000,
                "to": (piece.end_ms - 1) // 1000,
                "limit": 1000,
            },
            lambda body: [row["t"] * 1000 for row in body],
            most=1000,
            order="newest",
            days=400,
            top=300,
        ),
        _contract_stats("1h", 30),
        _bar_history("perp_bars", "1h", 100, 90),
        _bar_history("spot_bars", "1h", 50, 90),
    ),
    archives=(
        _archive("perp_minutes_history", "futures_usdt/candlesticks_1m"),
        _archive("spot_minutes_history", "spot/candlesticks_1m", "spot_bars"),
        _archive("funding_history", "futures_usdt/funding_applies"),
    ),
)
