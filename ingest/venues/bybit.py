"""Bybit: linear and inverse perpetuals, spot, and the BTC and ETH options (API v5)."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from ingest.declaration.endpoint import Bars, Body, Endpoint, FanOut, Keys, Params, Pool, Request, Stream
from ingest.declaration.history import SAMPLE, History, Interval, Piece
from ingest.declaration.pairs import in_dollars, legs
from ingest.declaration.venue import Venue

API, STREAMS = "api.bybit.com", "stream.bybit.com"
RET_CODE = re.compile(r'"retCode"\s*:\s*(-?\d+)\s*,\s*"retMsg"\s*:\s*("(?:[^"\\]|\\.)*")')
ARGS_LIMIT = 21_000
"""Characters of `args` that one message may carry (https://bybit-exchange.github.io/docs/v5/ws/connect)."""


def _is_inverse(symbol: str) -> bool:
    # BTCUSD; linear perps are named BTCUSDT and BTCPERP, dated inverse futures BTCUSDZ26.
    return symbol.endswith("USD")


def _category(symbol: str) -> str:
    return "inverse" if _is_inverse(symbol) else "linear"


def _linear(body: Body) -> Iterator[tuple[str, float]]:
    # Dated futures have a "-" in their symbol.
    if body["result"]["category"] == "linear":
        for row in body["result"]["list"]:
            if "-" not in row["symbol"]:
                yield row["symbol"], float(row["turnover24h"] or 0)


def _inverse(body: Body) -> Iterator[tuple[str, float]]:
    # Contracts are worth 1 USD: volume24h is in USD, turnover24h in coins.
    if body["result"]["category"] == "inverse":
        for row in body["result"]["list"]:
            if _is_inverse(row["symbol"]):
                yield row["symbol"], float(row["volume24h"] or 0)


def _perps(body: Body) -> Iterator[tuple[str, float]]:
    yield from _linear(body)
    yield from _inverse(body)


def _tether_perps(body: Body) -> Iterator[tuple[str, float]]:
    return ((symbol, volume) for symbol, volume in _linear(body) if symbol.endswith("USDT"))


def _held_in_tether(body: Body) -> Iterator[tuple[str, float]]:
    # openInterestValue counts both sides and is in the quote; the single-sided field came on 2026-06-11.
    for row in body["result"]["list"]:
        if row["symbol"].endswith("USDT"):
            yield row["symbol"], float(row.get("singleOpenInterestValue") or row["openInterestValue"] or 0)


def _held_legs(body: Body) -> Iterator[tuple[str, float]]:
    for symbol, held in _held_in_tether(body):
        yield from ((leg, held) for leg in legs(symbol.removesuffix("USDT")))


def _not_trading(body: Body) -> Iterator[tuple[str, float]]:
    return ((row["symbol"], 0.0) for row in body["result"]["list"] if row["status"] != "Trading")


def _spot_in_dollars(body: Body) -> Iterator[tuple[str, float]]:
    rows = body["result"]["list"]
    return ((row["symbol"], float(row["turnover24h"] or 0)) for row in rows if in_dollars(row["symbol"]))


def _next_page(body: Body) -> dict[str, Any] | None:
    """The cursor of the next page; the inverse instruments, which are few, follow the last linear page."""
    result = body["result"]
    if cursor := result.get("nextPageCursor"):
        return {"cursor": cursor}
    return {"category": "inverse", "cursor": ""} if result["category"] == "linear" else None


def _fault(body: str) -> str | None:
    """Bybit responds with status 200 to refused requests too; retCode says so (10006 = too many visits)."""
    found = RET_CODE.search(body[:400])
    if found is None or found[1] == "0":
        return None
    return f"retCode {found[1]}: {orjson.loads(found[2])}"


def _bars(category: Callable[[str], str]) -> Params:
    return lambda request: {
        "category": category(request.key),
        "symbol": request.key,
        "interval": "1",
        "limit": request.bars,
    }


def _spot(_: str) -> str:
    return "spot"


def _tickers(request: Request) -> dict[str, Any]:
    return {"category": request.key}


def _buckets(request: Request) -> dict[str, Any]:
    return {
        "category": _category(request.key),
        "symbol": request.key,
        "period": "5min",
        "limit": request.bars // 5 + 1,
    }


def _ladder(request: Request) -> dict[str, Any]:
    return {"category": "linear", "symbol": request.key, "limit": 500}


def _spot_ladder(request: Request) -> dict[str, Any]:
    # Spot books are published down to 200 levels.
    return {"category": "spot", "symbol": request.key, "limit": 200}


def _settled(request: Request) -> dict[str, Any]:
    # Perpetuals settle every hour at most.
    return {"category": _category(request.key), "symbol": request.key, "limit": request.bars // 60 + 1}


def _index(request: Request) -> dict[str, Any]:
    # The index of a perpetual in USDT has its name.
    return {"indexName": request.key}


def _subscribe(operation: str, symbols: list[str]) -> list[str]:
    """Messages for the symbols, each with at most ARGS_LIMIT characters of topics."""
    messages, chunk, size = [], list[str](), 0
    for topic in (f"allLiquidation.{symbol}" for symbol in symbols):
        if chunk and size + len(topic) + 3 > ARGS_LIMIT:
            messages.append(chunk)
            chunk, size = [], 0
        chunk.append(topic)
        size += len(topic) + 3
    return [orjson.dumps({"op": operation, "args": args}).decode() for args in [*messages, chunk] if args]


def _is_pong(frame: str) -> bool:
    return '"op":"ping"' in frame or '"ret_msg":"pong"' in frame


def _refused(frame: str) -> str | None:
    if '"success":false' not in frame:
        return None
    return f"subscription refused: {orjson.loads(frame).get('ret_msg')}"


def _liquidations(path: str, topics: Keys, key: str = "") -> Stream:
    return Stream(
        "liquidations",
        STREAMS,
        path,
        topics=topics,
        subscribe=_subscribe,
        heartbeat='{"op":"ping"}',
        heartbeat_s=20,
        skip=_is_pong,
        refused=_refused,
        # Its replies to our pings count as frames, so a live connection is never silent for a minute.
        silence_s=60,
        key=key,
    )


HOUR = 3600
PERPS, NOT_TRADING = Keys("perp_tickers", _perps), Keys("instruments", _not_trading)


def _history_rows(body: Body) -> list[Any]:
    rows: list[Any] = body["result"]["list"]
    return rows


def _history_span(piece: Piece, **more: Any) -> dict[str, Any]:
    span = {"startTime": piece.begin_ms, "endTime": piece.end_ms - 1, "limit": piece.rows}
    return {"category": _category(piece.key), "symbol": piece.key, **span, **more}


INTERVAL_NAMES: dict[Interval, str] = {"1m": "1", "1h": "60", "1d": "D"}
PERIOD_NAMES: dict[Interval, str] = {"5m": "5min", "1h": "1h", "1d": "1d"}


def _bar_history(endpoint: str, interval: Interval, top: int, days: int, sample: int = SAMPLE) -> History:
    category = _spot if endpoint == "spot_bars" else _category
    return History(
        endpoint,
        interval,
        API,
        "/v5/market/kline",
        "ip",
        lambda piece: {
            "category": category(piece.key),
            "symbol": piece.key,
            "interval": INTERVAL_NAMES[interval],
            "start": piece.begin_ms,
            "end": piece.end_ms - 1,
            "limit": piece.rows,
        },
        lambda body: [int(row[0]) for row in _history_rows(body)],
        most=1000,
        order="span",
        days=days,
        top=top,
        sample=sample,
    )


def _account_ratio_history(period: Interval, days: int) -> History:
    return History(
        "long_short_accounts",
        period,
        API,
        "/v5/market/account-ratio",
        "ip",
        lambda piece: _history_span(piece, period=PERIOD_NAMES[period]),
        lambda body: [int(row["timestamp"]) for row in _history_rows(body)],
        most=500,
        order="span",
        days=days,
        top=50,
    )


def _open_interest_history(interval: Interval, top: int, days: int, sample: int = SAMPLE) -> History:
    return History(
        "open_interest_history",
        interval,
        API,
        "/v5/market/open-interest",
        "ip",
        lambda piece: _history_span(piece, intervalTime=PERIOD_NAMES[interval]),
        lambda body: [int(row["timestamp"]) for row in _history_rows(body)],
        most=200,
        order="span",
        days=days,
        like="perp_bars",
        top=top,
        sample=sample,
    )


BYBIT = Venue(
    name="bybit",
    # 600 requests in 5 seconds per IP over all hosts' paths (https://bybit-exchange.github.io/docs/v5/rate-limit); the
    # response to more is 403, for about 10 minutes. A fifth is reserved for other clients at the same address.
    pools=(Pool("ip", 480, 5, history=96),),
    ban_s={403: 600},
    fault=_fault,
    endpoints=(
        Endpoint(
            "perp_tickers",
            API,
            "/v5/market/tickers",
            "ip",
            _tickers,
            fan_out=FanOut(always=("linear", "inverse")),
        ),
        Endpoint("spot_tickers", API, "/v5/market/tickers", "ip", {"category": "spot"}),
        Endpoint(
            "instruments",
            API,
            "/v5/market/instruments-info",
            "ip",
            {"category": "linear", "limit": 1000},
            every_s=HOUR,
            next_page=_next_page,
            timeout_s=20,
        ),
        # Spot instruments come in one page (the cursor is documented for the other categories only).
        Endpoint(
            "spot_instruments",
            API,
            "/v5/market/instruments-info",
            "ip",
            {"category": "spot"},
            every_s=HOUR,
            timeout_s=20,
        ),
        # The options of these coins, whatever they are settled in.
        Endpoint(
            "option_tickers",
            API,
            "/v5/market/tickers",
            "ip",
            lambda request: {"category": "option", "baseCoin": request.key},
            every_s=300,
            fan_out=FanOut(always=("BTC", "ETH")),
            timeout_s=20,
        ),
        Endpoint(
            "perp_bars",
            API,
            "/v5/market/kline",
            "ip",
            _bars(_category),
            bars=Bars(most=200),
            fan_out=FanOut(of=PERPS, top=100, rest_s=HOUR),
        ),
        Endpoint(
            "spot_bars",
            API,
            "/v5/market/kline",
            "ip",
            _bars(_spot),
            bars=Bars(most=200),
            fan_out=FanOut(of=Keys("spot_tickers", _spot_in_dollars), top=100, rest_s=HOUR),
        ),
        # Eight hours of five-minute buckets after a start; then the newest two or three, or an hour of them.
        Endpoint(
            "long_short_accounts",
            API,
            "/v5/market/account-ratio",
            "ip",
            _buckets,
            every_s=300,
            fan_out=FanOut(of=PERPS, without=NOT_TRADING, top=50, rest_s=HOUR),
            bars=Bars(usual=10, most=495, first=495),
        ),
        Endpoint(
            "order_books",
            API,
            "/v5/market/orderbook",
            "ip",
            _ladder,
            every_s=120,
            fan_out=FanOut(of=Keys("perp_tickers", _held_in_tether), without=NOT_TRADING, top=20),
        ),
        # The spot pairs of the perps with the highest open interest.
        Endpoint(
            "index_books",
            API,
            "/v5/market/orderbook",
            "ip",
            _spot_ladder,
            every_s=300,
            fan_out=FanOut(
                of=Keys("perp_tickers", _held_legs),
                within=Keys("spot_tickers", _spot_in_dollars),
                without=Keys("spot_instruments", _not_trading),
                top=40,
            ),
        ),
        Endpoint(
            "index_components",
            API,
            "/v5/market/index-price-components",
            "ip",
            _index,
            every_s=300,
            fan_out=FanOut(of=Keys("perp_tickers", _tether_perps), without=NOT_TRADING, top=0, rest_s=HOUR),
        ),
        # The settlements since the last response; after a start those of a day.
        Endpoint(
            "settlements",
            API,
            "/v5/market/funding/history",
            "ip",
            _settled,
            every_s=300,
            fan_out=FanOut(of=PERPS, without=NOT_TRADING, top=0, rest_s=HOUR),
            bars=Bars(usual=120, most=1440, first=1440),
        ),
    ),
    streams=(
        _liquidations("/v5/public/linear", Keys("perp_tickers", _linear)),
        _liquidations("/v5/public/inverse", Keys("perp_tickers", _inverse), key="inverse"),
    ),
    history=(
        _bar_history("perp_bars", "1m", 50, 1, 20),
        _bar_history("spot_bars", "1m", 50, 1, 10),
        _open_interest_history("5m", 50, 2, 10),
        _account_ratio_history("5m", 2),
        _bar_history("perp_bars", "1d", 300, 400),
        _bar_history("spot_bars", "1d", 300, 400),
        History(
            "settlements",
            None,
            API,
            "/v5/market/funding/history",
            "ip",
            lambda piece: _history_span(piece, limit=200),
            lambda body: [int(row["fundingRateTimestamp"]) for row in _history_rows(body)],
            most=200,
            order="newest",
            days=400,
            top=300,
        ),
        _open_interest_history("1h", 100, 30),
        _account_ratio_history("1h", 30),
        _account_ratio_history("1d", 400),
        _bar_history("perp_bars", "1h", 100, 90),
        _bar_history("spot_bars", "1h", 50, 90),
    ),
)
