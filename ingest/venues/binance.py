"""Binance: USD-M and COIN-M futures (fapi, dapi), spot (api) and the BTC and ETH options (eapi)."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from typing import Any

from ingest.declaration.archive import Archive, Bucket
from ingest.declaration.endpoint import Bars, Body, Endpoint, FanOut, Keys, Place, Pool, Request, Stream
from ingest.declaration.history import SAMPLE, History, Interval, Piece
from ingest.declaration.pairs import in_dollars, legs
from ingest.declaration.venue import Venue

FUTURES, SPOT, STREAMS = "fapi.binance.com", "api.binance.com", "fstream.binance.com"
COIN_MARGINED, COIN_M = "dapi.binance.com", "COIN-M"
OPTIONS, COINS = "eapi.binance.com", ("BTC", "ETH")


def _is_coin_margined(key: str) -> bool:
    # The key of their lists, and their symbols: BTCUSD_PERP.
    return key == COIN_M or key.endswith("_PERP")


def _place(path: str) -> Callable[[str], Place | None]:
    """COIN-M has the paths of USD-M at a host of its own, with a rate limit of its own."""
    return lambda key: (
        Place(COIN_MARGINED, path.replace("/fapi/", "/dapi/"), "coin_margined") if _is_coin_margined(key) else None
    )


def _traded(body: Body) -> Iterator[tuple[str, float]]:
    # The 24 h ticker also lists delivery contracts ("BTCUSDT_260327") and symbols that no longer trade.
    for row in body:
        if row["count"] and _is_coin_margined(row["symbol"]):
            yield row["symbol"], float(row["baseVolume"]) * float(row["weightedAvgPrice"])
        elif row["count"] and "_" not in row["symbol"]:
            yield row["symbol"], float(row["quoteVolume"])


def _traded_coin_margined(body: Body) -> Iterator[tuple[str, float]]:
    return ((symbol, volume) for symbol, volume in _traded(body) if _is_coin_margined(symbol))


def _traded_dollar_margined(body: Body) -> Iterator[tuple[str, float]]:
    return ((symbol, volume) for symbol, volume in _traded(body) if not _is_coin_margined(symbol))


def _traded_in_dollars(body: Body) -> Iterator[tuple[str, float]]:
    return ((symbol, volume) for symbol, volume in _traded(body) if in_dollars(symbol))


def _funded(body: Body) -> Iterator[tuple[str, float]]:
    # nextFundingTime 0: a delivery contract, or a halted one.
    return ((row["symbol"], 0.0) for row in body if row["nextFundingTime"])


def _not_trading(body: Body) -> Iterator[tuple[str, float]]:
    statuses = ((row["symbol"], row.get("contractStatus") or row["status"]) for row in body["symbols"])
    return ((symbol, 0.0) for symbol, status in statuses if status != "TRADING")


def _marks(body: Body) -> Iterator[tuple[str, float]]:
    return ((row["symbol"], float(row["markPrice"] or 0)) for row in body)


def _held_in_tether(body: Body) -> Iterator[tuple[str, float]]:
    if body["symbol"].endswith("USDT"):
        yield body["symbol"], float(body["openInterest"])


def _leg_sizes(body: Body) -> Iterator[tuple[str, float]]:
    for symbol, size in _held_in_tether(body):
        yield from ((leg, size) for leg in legs(symbol.removesuffix("USDT")))


def _leg_marks(body: Body) -> Iterator[tuple[str, float]]:
    for symbol, price in _marks(body):
        if symbol.endswith("USDT"):
            yield from ((leg, price) for leg in legs(symbol.removesuffix("USDT")))


def _expiries(body: Body) -> Iterator[tuple[str, float]]:
    # BTC-260327-90000-C: open interest is requested by coin and day.
    named = {tuple(row["symbol"].split("-")[:2]) for row in body["optionSymbols"]}
    return ((f"{coin}-{day}", 0.0) for coin, day in named if coin in COINS)


def _expiry(request: Request) -> dict[str, Any]:
    coin, day = request.key.split("-")
    return {"underlyingAsset": coin, "expiration": day}


def _symbol(request: Request) -> dict[str, Any]:
    return {"symbol": request.key}


def _settled(request: Request) -> dict[str, Any]:
    # USD-M publishes the newest settlements of all markets at once, COIN-M those of one.
    return {"symbol": request.key, "limit": 10} if request.key else {"limit": 1000}


def _market(key: str) -> dict[str, Any]:
    """The statistics of a COIN-M perp are named by its pair; the open interest and the takers also by the contract."""
    return (
        {"pair": key.removesuffix("_PERP"), "contractType": "PERPETUAL"} if _is_coin_margined(key) else {"symbol": key}
    )


def _klines(request: Request) -> dict[str, Any]:
    return {"symbol": request.key, "interval": "1m", "limit": request.bars}


def _buckets(request: Request) -> dict[str, Any]:
    return {**_market(request.key), "period": "5m", "limit": request.bars // 5 + 1}


def _ladder(request: Request) -> dict[str, Any]:
    return {"symbol": request.key, "limit": 500}


def _spot_ladder(request: Request) -> dict[str, Any]:
    return {"symbol": request.key, "limit": 1000}


HOUR = 3600
LISTS = FanOut(always=("", COIN_M))
"""The lists of USD-M, and of COIN-M."""
FUNDED, NOT_TRADING = Keys("funding", _funded), Keys("instruments", _not_trading)
PERPS = FanOut(of=Keys("perp_tickers", _traded), within=FUNDED, without=NOT_TRADING)
POSITIONED = replace(PERPS, top=50, rest_s=HOUR)
"""The most traded each time, all others once an hour."""
# The order books of the highest open interest in USD: contracts are published per symbol, prices in one list.
MOST_HELD = FanOut(
    of=Keys("open_interest", _held_in_tether, times=Keys("funding", _marks)),
    within=FUNDED,
    without=NOT_TRADING,
    top=20,
)
TAKERS = "/futures/data/takerBuySellVol"
"""The path of COIN-M for what USD-M has under takerlongshortRatio."""
HELD = {"open_interest_history": "/futures/data/openInterestHist"}
RATIOS = {
    "long_short_accounts": "/futures/data/globalLongShortAccountRatio",
    "long_short_top_accounts": "/futures/data/topLongShortAccountRatio",
    "long_short_top_positions": "/futures/data/topLongShortPositionRatio",
    "taker_ratio": "/futures/data/takerlongshortRatio",
}
EIGHT_HOURS = Bars(usual=10, most=495, first=495)
"""Minutes of five-minute buckets after a start; then the newest two or three, or an hour of them."""


def _both(name: str, path: str, **more: Any) -> Endpoint:
    """An endpoint of USD-M and COIN-M, with the same weights."""
    return Endpoint(name, FUTURES, path, "futures", place=_place(path), **more)


def _ratio(name: str, path: str) -> Endpoint:
    return Endpoint(
        name,
        FUTURES,
        path,
        "statistics",
        _buckets,
        every_s=300,
        fan_out=POSITIONED,
        bars=EIGHT_HOURS,
        place=_place(TAKERS if name == "taker_ratio" else path),
    )


EVERY_COIN = 60
"""Markets in the small fetch of a demo: daily bars of every coin, because coins are ranked by them."""


def kline_span(interval: str) -> Callable[[Piece], dict[str, Any]]:
    return lambda piece: {
        "symbol": piece.key,
        "interval": interval,
        "startTime": piece.begin_ms,
        "endTime": piece.end_ms - 1,
        "limit": piece.rows,
    }


def kline_weight(piece: Piece) -> int:
    # Page of the klines; Aster's is the same.
    return 1 if piece.rows < 100 else 2 if piece.rows < 500 else 5 if piece.rows <= 1000 else 10


def bar_times(body: Body) -> list[int]:
    return [int(row[0]) for row in body]


def settlement_times(body: Body) -> list[int]:
    return [int(row["fundingTime"]) for row in body]


def settlement_span(piece: Piece) -> dict[str, Any]:
    return {"symbol": piece.key, "startTime": piece.begin_ms, "endTime": piece.end_ms - 1, "limit": 1000}


def _bucket_span(period: Interval) -> Callable[[Piece], dict[str, Any]]:
    def span(piece: Piece) -> dict[str, Any]:
        ends = {"startTime": piece.begin_ms, "endTime": piece.end_ms - 1, "limit": piece.rows}
        return {**_market(piece.key), "period": period, **ends}

    return span


def _bar_history(endpoint: str, interval: Interval, top: int | None, days: int, sample: int) -> History:
    spot = endpoint == "spot_bars"
    return History(
        endpoint,
        interval,
        SPOT if spot else FUTURES,
        "/api/v3/klines" if spot else "/fapi/v1/klines",
        "spot" if spot else "futures",
        kline_span(interval),
        bar_times,
        # A futures request of fewer than 500 bars weighs 2; COIN-M has a span of at most 200 days.
        most=199 if interval == "1d" else 499 if interval == "1m" and not spot else 1000,
        order="span",
        days=days,
        weight=2 if spot else kline_weight,
        top=top,
        sample=sample,
        place=None if spot else _place("/fapi/v1/klines"),
    )


def _statistic_history(endpoint: str, path: str, interval: Interval, top: int, sample: int = SAMPLE) -> History:
    return History(
        endpoint,
        interval,
        FUTURES,
        path,
        "statistics",
        _bucket_span(interval),
        lambda body: [int(row["timestamp"]) for row in body],
        most=500,
        order="span",
        days=2 if interval == "5m" else 30,
        kept_days=30,
        like="perp_bars",
        top=top,
        sample=sample,
        place=_place(TAKERS if endpoint == "taker_ratio" else path),
    )


def _minutes(kind: str) -> list[str]:
    return [f"futures/{{market}}/{period}/{kind}/{{symbol}}/1m" for period in ("monthly", "daily")]


def _archive(endpoint: str, *folders: str, first: date, days: int = 0, coin_margined: bool = True) -> Archive:
    """Files of one type; `market` in a folder is USD-M or COIN-M."""

    def folders_of(symbol: str, month: date) -> list[str]:
        market = "cm" if _is_coin_margined(symbol) else "um"
        return [f"data/{folder.format(market=market, symbol=symbol)}/" for folder in folders]

    return Archive(
        endpoint,
        "data.binance.vision",
        Bucket("s3-ap-northeast-1.amazonaws.com", "/data.binance.vision", folders_of),
        re.compile(r"-(\d{4}-\d{2}(?:-\d{2})?)\.zip$"),
        "day" if any("/daily/" in folder for folder in folders) else "month",
        "archive",
        first,
        days,
        "spot_bars" if any(folder.startswith("spot/") for folder in folders) else "perp_bars",
        top=50,
        has=lambda key: coin_margined or not _is_coin_margined(key),
        checksum="sha256",
        lines=1440 if any(folder.endswith("/1m") for folder in folders) else 0,
    )


def _liquidation_folders(symbol: str, month: date) -> list[str]:
    """Those of COIN-M are beside its other files; those of USD-M were moved to a folder that nothing links to."""
    coin_margined = f"data/futures/cm/daily/liquidationSnapshot/{symbol}/"
    return [coin_margined if _is_coin_margined(symbol) else f"data3/liquidationSnapshot/{symbol}/"]


BINANCE = Venue(
    name="binance",
    pools=(
        # https://developers.binance.com/docs/derivatives/usds-margined-futures/general-info (2400 weight a minute per
        # IP) and https://developers.binance.com/docs/binance-spot-api-docs/rest-api/limits (6000). A tenth is
        # reserved for other clients at the same address.
        Pool("futures", 2160, 60, history=430),
        # COIN-M: 2400 weight a minute of its own
        # (https://developers.binance.com/docs/derivatives/coin-margined-futures/general-info).
        Pool("coin_margined", 2160, 60, history=430),
        Pool("spot", 5400, 60, history=1080),
        # fundingRate and fundingInfo share 500 requests in 5 minutes per IP (page of fundingInfo).
        Pool("funding_info", 450, 300, history=400),
        # 1000 requests in 5 minutes per IP for all of /futures/data (pages of the ratios).
        Pool("statistics", 900, 300, history=180),
        # Files on a content network without a stated limit: 20 files a second with their checksums.
        Pool("archive", 2400, 60, history=2400),
        # The options' limit is stated by their exchangeInfo; the lowest known value is 400 a minute
        # (https://developers.binance.com/docs/derivatives/options-trading/market-data/Exchange-Information).
        Pool("options", 300, 60),
    ),
    # 429, then 418 with Retry-After when the client goes on (limits page, both hosts); 403 is the web firewall.
    ban_s={418: 120, 403: 300},
    endpoints=(
        _both("perp_tickers", "/fapi/v1/ticker/24hr", weight=40, fan_out=LISTS),
        _both("funding", "/fapi/v1/premiumIndex", weight=10, fan_out=LISTS),
        Endpoint("funding_intervals", FUTURES, "/fapi/v1/fundingInfo", "funding_info"),
        # Without averages, the book's best prices and the last trade, which are not used and are half of it.
        Endpoint("spot_tickers", SPOT, "/api/v3/ticker/24hr", "spot", {"type": "MINI"}, weight=80),
        _both("instruments", "/fapi/v1/exchangeInfo", every_s=HOUR, timeout_s=20, fan_out=LISTS),
        # Without permission sets (a parameter since 2024-10-17): they are most of the body, and not used.
        Endpoint(
            "spot_instruments",
            SPOT,
            "/api/v3/exchangeInfo",
            "spot",
            {"showPermissionSets": "false"},
            every_s=HOUR,
            weight=20,
            timeout_s=30,
        ),
        _both("open_interest", "/fapi/v1/openInterest", params=_symbol, fan_out=PERPS),
        _both(
            "perp_bars",
            "/fapi/v1/klines",
            params=_klines,
            # Weight 1 as long as fewer than 100 bars are requested.
            bars=Bars(most=99),
            fan_out=replace(PERPS, top=100, rest_s=HOUR),
        ),
        Endpoint(
            "spot_bars",
            SPOT,
            "/api/v3/klines",
            "spot",
            _klines,
            weight=2,
            bars=Bars(most=99),
            fan_out=FanOut(
                of=Keys("spot_tickers", _traded_in_dollars),
                without=Keys("spot_instruments", _not_trading),
                top=100,
                rest_s=HOUR,
            ),
        ),
        # Buckets are kept for 30 days.
        *(_ratio(name, path) for name, path in RATIOS.items()),
        # Marks and tickers of all options at once, their open interest by coin and expiry.
        Endpoint("option_tickers", OPTIONS, "/eapi/v1/mark", "options", every_s=300, weight=5, timeout_s=20),
        Endpoint("option_volumes", OPTIONS, "/eapi/v1/ticker", "options", every_s=300, weight=5, timeout_s=20),
        Endpoint("option_instruments", OPTIONS, "/eapi/v1/exchangeInfo", "options", every_s=HOUR, timeout_s=20),
        Endpoint(
            "option_open_interest",
            OPTIONS,
            "/eapi/v1/openInterest",
            "options",
            _expiry,
            every_s=300,
            fan_out=FanOut(of=Keys("option_instruments", _expiries)),
        ),
        Endpoint(
            "option_index",
            OPTIONS,
            "/eapi/v1/index",
            "options",
            lambda request: {"underlying": request.key},
            every_s=300,
            fan_out=FanOut(always=tuple(f"{coin}USDT" for coin in COINS)),
        ),
        # Weight 10 up to 500 levels (page of the order book).
        Endpoint(
            "order_books", FUTURES, "/fapi/v1/depth", "futures", _ladder, every_s=120, weight=10, fan_out=MOST_HELD
        ),
        # The spot pairs of the perps with the highest open interest; up to 1000 levels weigh 50 (order book page).
        Endpoint(
            "index_books",
            SPOT,
            "/api/v3/depth",
            "spot",
            _spot_ladder,
            every_s=300,
            weight=50,
            fan_out=FanOut(
                of=Keys("open_interest", _leg_sizes, times=Keys("funding", _leg_marks)),
                within=Keys("spot_tickers", _traded_in_dollars),
                without=Keys("spot_instruments", _not_trading),
                top=40,
            ),
        ),
        Endpoint(
            "index_components",
            FUTURES,
            "/fapi/v1/constituents",
            "futures",
            _symbol,
            weight=2,
            every_s=300,
            fan_out=replace(PERPS, of=Keys("perp_tickers", _traded_dollar_margined), top=0, rest_s=HOUR),
        ),
        # Without a symbol the newest 1000 settlements of all of USD-M: more than any hour has.
        Endpoint(
            "settlements",
            FUTURES,
            "/fapi/v1/fundingRate",
            "funding_info",
            _settled,
            every_s=600,
            fan_out=FanOut(
                of=Keys("perp_tickers", _traded_coin_margined), within=FUNDED, without=NOT_TRADING, always=("",)
            ),
            place=_place("/fapi/v1/fundingRate"),
        ),
    ),
    streams=(
        # Market streams live under /market since 2026-04-23; the old route connects and stays silent. The server
        # pings every 3 minutes (answered by the client); a connection lives 24 hours. Minutes without any forced
        # order happen, so the silence limit is long and liveness is proved by pings of our own.
        Stream("liquidations", STREAMS, "/market/ws/!forceOrder@arr", silence_s=1800),
    ),
    history=(
        _bar_history("perp_bars", "1m", 50, 1, 20),
        _bar_history("spot_bars", "1m", 50, 1, 10),
        *(_statistic_history(name, path, "5m", 50, 10) for name, path in HELD.items()),
        *(_statistic_history(name, path, "5m", 15) for name, path in RATIOS.items()),
        _bar_history("perp_bars", "1d", None, 400, EVERY_COIN),
        _bar_history("spot_bars", "1d", None, 400, EVERY_COIN),
        History(
            "settlements",
            None,
            FUTURES,
            "/fapi/v1/fundingRate",
            "funding_info",
            settlement_span,
            settlement_times,
            most=1000,
            order="oldest",
            days=400,
            like="perp_bars",
            sample=20,
            place=_place("/fapi/v1/fundingRate"),
        ),
        *(_statistic_history(name, path, "1h", 100) for name, path in HELD.items()),
        *(_statistic_history(name, path, "1h", 50) for name, path in RATIOS.items()),
        _bar_history("perp_bars", "1h", 100, 90, 10),
        _bar_history("spot_bars", "1h", 100, 90, 10),
    ),
    archives=(
        # Open interest and ratios of five minutes, of which the API has 30 days. BTC's first file is of this day.
        # A line has open interest, three ratios of accounts and that of takers.
        _archive("metrics_history", "futures/{market}/daily/metrics/{symbol}", first=date(2020, 9, 1), days=90),
        _archive("perp_minutes_history", *_minutes("klines"), first=date(2019, 9, 1)),
        _archive(
            "spot_minutes_history",
            *(f"spot/{period}/klines/{{symbol}}/1m" for period in ("monthly", "daily")),
            first=date(2017, 8, 1),
        ),
        _archive("funding_history", "futures/{market}/monthly/fundingRate/{symbol}", first=date(2020, 1, 1)),
        # Of COIN-M the index is filed under another name, and no sample of the others has been seen.
        *(
            _archive(f"{name}_minutes_history", *_minutes(f"{kind}Klines"), first=first, coin_margined=False)
            for name, kind, first in (
                ("mark", "markPrice", date(2019, 12, 1)),
                ("index", "indexPrice", date(2020, 1, 1)),
                ("premium", "premiumIndex", date(2020, 1, 1)),
            )
        ),
        # The only liquidations of the past: the last file of USD-M is of 2024-03-31. Whether those of USD-M have a
        # checksum is not known, so that all are verified by their ETag.
        replace(
            _archive("liquidations_history", first=date(2023, 6, 25)),
            files=Bucket("s3-ap-northeast-1.amazonaws.com", "/data.binance.vision", _liquidation_folders),
            by="day",
            last=date(2024, 10, 14),
            checksum=None,
        ),
    ),
)
