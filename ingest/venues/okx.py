"""OKX: perpetual swaps (linear and inverse), spot and the BTC and ETH options (API v5)."""

import re
from collections.abc import Iterator
from datetime import date
from typing import Any

import orjson

from ingest.declaration.archive import Archive
from ingest.declaration.endpoint import Bars, Body, Endpoint, FanOut, Keys, Pool, Request, Stream
from ingest.declaration.history import History, Interval
from ingest.declaration.pairs import in_dollars, legs
from ingest.declaration.venue import Venue

API, STREAMS = "www.okx.com", "ws.okx.com:8443"
CODE = re.compile(r'"code"\s*:\s*"(\d+)"')
MESSAGE = re.compile(r'"msg"\s*:\s*"((?:[^"\\]|\\.)*)"')
HOUR = 3600


def _swaps(body: Body) -> Iterator[tuple[str, float]]:
    # volCcy24h of a swap is in coins, of inverse ones too.
    return ((row["instId"], float(row["volCcy24h"] or 0) * float(row["last"] or 0)) for row in body["data"])


def _tether_swaps(body: Body) -> Iterator[tuple[str, float]]:
    # Positioning of swaps that are not quoted in USDT is not published.
    return ((symbol, volume) for symbol, volume in _swaps(body) if symbol.endswith("-USDT-SWAP"))


def _indices(body: Body) -> Iterator[tuple[str, float]]:
    # The index of BTC-USDT-SWAP is called BTC-USDT, as its underlying.
    return ((symbol.removesuffix("-SWAP"), volume) for symbol, volume in _swaps(body))


def _index_quotes(body: Body) -> Iterator[tuple[str, float]]:
    return ((quote, 0.0) for quote in {row["instId"].split("-")[1] for row in body["data"]} if "_" not in quote)


def _held_pairs(body: Body) -> Iterator[tuple[str, float]]:
    # The spot pairs under each swap quoted in USDT; oiUsd was added later than the other fields.
    for row in body["data"]:
        if row["instId"].endswith("-USDT-SWAP"):
            base = row["instId"].removesuffix("-USDT-SWAP")
            yield from ((leg, float(row.get("oiUsd") or 0)) for leg in legs(base, "-"))


def _spot(body: Body) -> Iterator[tuple[str, float]]:
    # volCcy24h of a spot pair is in its quote.
    return ((row["instId"], float(row["volCcy24h"] or 0)) for row in body["data"])


def _spot_in_dollars(body: Body) -> Iterator[tuple[str, float]]:
    return ((symbol, volume) for symbol, volume in _spot(body) if in_dollars(symbol))


def _not_live(body: Body) -> Iterator[tuple[str, float]]:
    return ((row["instId"], 0.0) for row in body["data"] if row["state"] != "live")


def _liquidation_topic(_: Body) -> Iterator[tuple[str, float]]:
    # One subscription brings the liquidations of all swaps.
    yield "SWAP", 0.0


def _fault(body: str) -> str | None:
    """OKX responds with status 200 to refused requests too; code says so (50011 = too many requests)."""
    found = CODE.search(body[:400])
    if found is None or found[1] == "0":
        return None
    message = MESSAGE.search(body)
    return f"code {found[1]}: {message[1] if message else ''}"


def _index(request: Request) -> dict[str, Any]:
    return {"index": request.key}


def _quote(request: Request) -> dict[str, Any]:
    return {"quoteCcy": request.key}


def _family(request: Request) -> dict[str, Any]:
    return {"instFamily": request.key}


def _option_family(request: Request) -> dict[str, Any]:
    return {"instType": "OPTION", "instFamily": request.key}


def _candles(request: Request) -> dict[str, Any]:
    return {"instId": request.key, "bar": "1m", "limit": request.bars}


def _settled(request: Request) -> dict[str, Any]:
    # Swaps settle every hour at most.
    return {"instId": request.key, "limit": request.bars // 60 + 1}


def _buckets(request: Request) -> dict[str, Any]:
    return {"instId": request.key, "period": "5m", "limit": min(100, request.bars // 5 + 1)}


def _taker_buckets(request: Request) -> dict[str, Any]:
    # Unit 2 is USDT.
    return _buckets(request) | {"unit": 2}


def _books(request: Request) -> dict[str, Any]:
    return {"instId": request.key, "sz": 400}


def _subscribe(operation: str, topics: list[str]) -> list[str]:
    args = [{"channel": "liquidation-orders", "instType": topic} for topic in topics]
    return [orjson.dumps({"op": operation, "args": args}).decode()]


def _is_pong(frame: str) -> bool:
    return frame == "pong"


def _refused(frame: str) -> str | None:
    if '"event":"error"' not in frame:
        return None
    return f"subscription refused: {orjson.loads(frame).get('msg')}"


SWAPS = Keys("perp_tickers", _swaps)
NOT_LIVE = Keys("instruments", _not_live)
POSITIONED = FanOut(of=Keys("perp_tickers", _tether_swaps), without=NOT_LIVE, top=50, rest_s=HOUR)
HOURLY = FanOut(of=SWAPS, without=NOT_LIVE, top=0, rest_s=HOUR)
"""Nothing every minute: all swaps once an hour, spread over it."""
EIGHT_HOURS = Bars(usual=10, most=495, first=495)
"""Minutes of five-minute buckets: at most 100 of them in a response."""
OPTIONS = FanOut(always=("BTC-USD", "ETH-USD"))


def _ratio(name: str, pool: str, path: str) -> Endpoint:
    return Endpoint(name, API, path, pool, _buckets, every_s=300, fan_out=POSITIONED, bars=EIGHT_HOURS)


INTERVAL_NAMES: dict[Interval, str] = {"1m": "1m", "5m": "5m", "1h": "1H", "1d": "1Dutc"}


def _first_column(body: Body) -> list[int]:
    return [int(row[0]) for row in body["data"]]


def _bar_history(endpoint: str, interval: Interval, top: int, days: int) -> History:
    return History(
        endpoint,
        interval,
        API,
        "/api/v5/market/history-candles",
        "history_candles",
        # Both ends are exclusive; older documents state 100 rows, newer ones 300.
        lambda piece: {
            "instId": piece.key,
            "bar": INTERVAL_NAMES[interval],
            "after": piece.end_ms,
            "before": piece.begin_ms - 1,
            "limit": piece.rows,
        },
        _first_column,
        most=100,
        order="span",
        days=days,
        top=top,
    )


def _statistic_history(
    endpoint: str, path: str, pool: str, top: int, interval: Interval = "1h", **more: Any
) -> History:
    return History(
        endpoint,
        interval,
        API,
        path,
        pool,
        lambda piece: {
            "instId": piece.key,
            "period": INTERVAL_NAMES[interval],
            "begin": piece.begin_ms - 1,
            "end": piece.end_ms,
            "limit": piece.rows,
            **more,
        },
        _first_column,
        most=100,
        order="span",
        # The venue has the newest 1,440 buckets of each length.
        days={"5m": 2, "1h": 30, "1d": 400}[interval],
        like="long_short_accounts",
        top=top,
        sample=1,
    )


RATIOS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "long_short_accounts": ("/api/v5/rubik/stat/contracts/long-short-account-ratio-contract", "accounts", {}),
    "long_short_top_accounts": (
        "/api/v5/rubik/stat/contracts/long-short-account-ratio-contract-top-trader",
        "top_accounts",
        {},
    ),
    "long_short_top_positions": (
        "/api/v5/rubik/stat/contracts/long-short-position-ratio-contract-top-trader",
        "top_positions",
        {},
    ),
    # Unit 2 is USDT.
    "taker_ratio": ("/api/v5/rubik/stat/taker-volume-contract", "taker", {"unit": 2}),
}
"""Path, rate limit and further parameters of each ratio."""


def _archive(endpoint: str, folder: str, name: str, first: date) -> Archive:
    # A file a day with all swaps or all spot pairs, two days later; the days begin at 00:00 in UTC+8.
    return Archive(
        endpoint,
        "static.okx.com",
        lambda _, day: f"/cdn/okex/traderecords/{folder}/daily/{day:%Y%m%d}/{name}-{day}.zip",
        re.compile(r"-(\d{4}-\d{2}-\d{2})\.zip$"),
        "day",
        "archive",
        first,
        0,
        None,
        top=None,
        zone_h=8,
    )


OKX = Venue(
    name="okx",
    # Limits are per path and IP (https://www.okx.com/docs-v5/en/, "Rate Limit" of each path; some count per
    # instrument only, which is never less). A tenth or more is reserved for other clients at the same address.
    pools=(
        # One pool for all bulk lists: 20 in 2 s, of which mark-price and funding-rate (10 in 2 s) take one each.
        Pool("bulk", 16, 2, history=2),
        Pool("candles", 36, 2),
        Pool("history_candles", 18, 2, history=14),
        Pool("books", 36, 2),
        Pool("index_components", 16, 2),
        Pool("funding_history", 8, 2, history=4),
        # The statistics (rubik) allow 5 in 2 s on each path: 4 to the recorder, the fifth to the past.
        Pool("accounts", 5, 2, history=1),
        Pool("top_accounts", 5, 2, history=1),
        Pool("top_positions", 5, 2, history=1),
        Pool("taker", 5, 2, history=1),
        Pool("open_interest_history", 9, 2, history=7),
        # No limit is stated for the files.
        Pool("archive", 20, 2, history=20),
    ),
    # Above a limit the response is 429 with code 50011; 403 comes from the web firewall in front of the API.
    ban_s={403: 300},
    fault=_fault,
    endpoints=(
        Endpoint("perp_tickers", API, "/api/v5/market/tickers", "bulk", {"instType": "SWAP"}),
        Endpoint("funding", API, "/api/v5/public/funding-rate", "bulk", {"instId": "ANY"}),
        Endpoint("open_interest", API, "/api/v5/public/open-interest", "bulk", {"instType": "SWAP"}),
        Endpoint("marks", API, "/api/v5/public/mark-price", "bulk", {"instType": "SWAP"}),
        Endpoint("spot_tickers", API, "/api/v5/market/tickers", "bulk", {"instType": "SPOT"}),
        Endpoint(
            "index_tickers",
            API,
            "/api/v5/market/index-tickers",
            "bulk",
            _quote,
            fan_out=FanOut(of=Keys("perp_tickers", _index_quotes)),
        ),
        Endpoint(
            "instruments",
            API,
            "/api/v5/public/instruments",
            "bulk",
            {"instType": "SWAP"},
            every_s=HOUR,
            timeout_s=20,
        ),
        Endpoint(
            "spot_instruments",
            API,
            "/api/v5/public/instruments",
            "bulk",
            {"instType": "SPOT"},
            every_s=HOUR,
            timeout_s=20,
        ),
        Endpoint("option_tickers", API, "/api/v5/public/opt-summary", "bulk", _family, every_s=300, fan_out=OPTIONS),
        Endpoint(
            "option_open_interest",
            API,
            "/api/v5/public/open-interest",
            "bulk",
            _option_family,
            every_s=300,
            fan_out=OPTIONS,
        ),
        Endpoint("option_volumes", API, "/api/v5/market/tickers", "bulk", _option_family, every_s=300, fan_out=OPTIONS),
        Endpoint(
            "perp_bars",
            API,
            "/api/v5/market/candles",
            "candles",
            _candles,
            bars=Bars(most=300),
            fan_out=FanOut(of=SWAPS, without=NOT_LIVE, top=100, rest_s=HOUR),
        ),
        Endpoint(
            "spot_bars",
            API,
            "/api/v5/market/candles",
            "candles",
            _candles,
            bars=Bars(most=300),
            fan_out=FanOut(
                of=Keys("spot_tickers", _spot_in_dollars),
                without=Keys("spot_instruments", _not_live),
                top=100,
                rest_s=HOUR,
            ),
        ),
        _ratio("long_short_accounts", "accounts", "/api/v5/rubik/stat/contracts/long-short-account-ratio-contract"),
        _ratio(
            "long_short_top_accounts",
            "top_accounts",
            "/api/v5/rubik/stat/contracts/long-short-account-ratio-contract-top-trader",
        ),
        _ratio(
            "long_short_top_positions",
            "top_positions",
            "/api/v5/rubik/stat/contracts/long-short-position-ratio-contract-top-trader",
        ),
        Endpoint(
            "taker_ratio",
            API,
            "/api/v5/rubik/stat/taker-volume-contract",
            "taker",
            _taker_buckets,
            every_s=300,
            fan_out=POSITIONED,
            bars=EIGHT_HOURS,
        ),
        Endpoint(
            "index_books",
            API,
            "/api/v5/market/books",
            "books",
            _books,
            every_s=300,
            fan_out=FanOut(of=Keys("open_interest", _held_pairs), within=Keys("spot_tickers", _spot), top=40),
        ),
        Endpoint(
            "index_components",
            API,
            "/api/v5/market/index-components",
            "index_components",
            _index,
            every_s=300,
            fan_out=FanOut(of=Keys("perp_tickers", _indices), top=0, rest_s=HOUR),
        ),
        # The settlements since the last response; after a start those of a day.
        Endpoint(
            "settlements",
            API,
            "/api/v5/public/funding-rate-history",
            "funding_history",
            _settled,
            every_s=300,
            bars=Bars(usual=120, most=1440, first=1440),
            fan_out=HOURLY,
        ),
    ),
    streams=(
        Stream(
            "liquidations",
            STREAMS,
            "/ws/v5/public",
            topics=Keys("perp_tickers", _liquidation_topic),
            subscribe=_subscribe,
            # Without any frame for 30 s OKX closes; its replies to our pings count as frames.
            heartbeat="ping",
            heartbeat_s=20,
            skip=_is_pong,
            refused=_refused,
            silence_s=60,
        ),
    ),
    history=(
        _bar_history("perp_bars", "1m", 50, 1),
        _bar_history("spot_bars", "1m", 50, 1),
        _statistic_history(
            "open_interest_history",
            "/api/v5/rubik/stat/contracts/open-interest-history",
            "open_interest_history",
            50,
            "5m",
        ),
        *(_statistic_history(name, path, pool, 20, "5m", **more) for name, (path, pool, more) in RATIOS.items()),
        _bar_history("perp_bars", "1d", 300, 400),
        _bar_history("spot_bars", "1d", 300, 400),
        History(
            "settlements",
            None,
            API,
            "/api/v5/public/funding-rate-history",
            "funding_history",
            lambda piece: {"instId": piece.key, "after": piece.end_ms, "limit": 100},
            lambda body: [int(row["fundingTime"]) for row in body["data"]],
            most=100,
            order="newest",
            days=90,
            top=300,
        ),
        _statistic_history(
            "open_interest_history", "/api/v5/rubik/stat/contracts/open-interest-history", "open_interest_history", 50
        ),
        *(_statistic_history(name, path, pool, 30, **more) for name, (path, pool, more) in RATIOS.items()),
        _statistic_history(
            "long_short_accounts",
            "/api/v5/rubik/stat/contracts/long-short-account-ratio-contract",
            "accounts",
            20,
            "1d",
        ),
        _bar_history("perp_bars", "1h", 100, 90),
        _bar_history("spot_bars", "1h", 50, 90),
    ),
    archives=(
        _archive("perp_minutes_history", "candlesticks", "allswap-candlesticks", date(2023, 7, 1)),
        _archive("spot_minutes_history", "candlesticks", "allspot-candlesticks", date(2023, 7, 1)),
        _archive("funding_history", "swaprates", "allswap-fundingrates", date(2022, 1, 1)),
    ),
)
