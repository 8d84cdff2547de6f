"""Aster: perpetuals (fapi) and spot (sapi), in Binance's wire format."""

from collections.abc import Iterator
from typing import Any

from ingest.declaration.endpoint import Bars, Body, Endpoint, FanOut, Keys, Pool, Request, Stream
from ingest.declaration.history import History, Interval
from ingest.declaration.pairs import in_dollars
from ingest.declaration.venue import Venue
from ingest.venues.binance import bar_times, kline_span, kline_weight, settlement_span, settlement_times

FUTURES, SPOT, STREAMS = "fapi.asterdex.com", "sapi.asterdex.com", "fstream.asterdex.com"
HOUR = 3600


def _traded(body: Body) -> Iterator[tuple[str, float]]:
    # Symbols that begin with TEST are the venue's own tests; a count of 0 is a market that no longer trades.
    return (
        (row["symbol"], float(row["quoteVolume"]))
        for row in body
        if row["count"] and not row["symbol"].startswith("TEST")
    )


def _traded_in_dollars(body: Body) -> Iterator[tuple[str, float]]:
    return ((symbol, volume) for symbol, volume in _traded(body) if in_dollars(symbol))


def _funded(body: Body) -> Iterator[tuple[str, float]]:
    return ((row["symbol"], 0.0) for row in body if row["nextFundingTime"])


def _not_trading(body: Body) -> Iterator[tuple[str, float]]:
    return ((row["symbol"], 0.0) for row in body["symbols"] if row["status"] != "TRADING")


def _symbol(request: Request) -> dict[str, Any]:
    return {"symbol": request.key}


def _klines(request: Request) -> dict[str, Any]:
    return {"symbol": request.key, "interval": "1m", "limit": request.bars}


def _two_hours(request: Request) -> dict[str, Any]:
    # Requested every hour: the settlement of the previous hour is included even if this hour's is published late.
    # Both are fewer than the 1000 rows of a response, which begins at startTime.
    return {"startTime": request.tick_ms - 2 * HOUR * 1000, "limit": 1000}


TRADED = Keys("perp_tickers", _traded)
FUNDED = Keys("funding", _funded)
HALTED = Keys("instruments", _not_trading)


def _bar_history(endpoint: str, interval: Interval, top: int, days: int) -> History:
    spot = endpoint == "spot_bars"
    return History(
        endpoint,
        interval,
        SPOT if spot else FUTURES,
        "/api/v1/klines" if spot else "/fapi/v1/klines",
        "spot" if spot else "futures",
        kline_span(interval),
        bar_times,
        most=1000 if interval == "1h" else 499,
        order="span",
        days=days,
        # The spot page gives klines no weight: the futures page's is assumed.
        weight=kline_weight,
        top=top,
    )


ASTER = Venue(
    name="aster",
    pools=(
        # https://github.com/asterdex/api-docs (futures API: exchangeInfo states 2400 weight a minute per IP; spot API:
        # exchangeInfo shows 6000, the page's own enumeration 1200: the smaller is taken). A tenth is reserved
        # for other clients at the same address.
        Pool("futures", 2160, 60, history=430),
        Pool("spot", 1080, 60, history=216),
    ),
    # 429, then 418 with Retry-After when the client goes on; 403 is the web firewall (same pages).
    ban_s={418: 120, 403: 300},
    endpoints=(
        Endpoint("perp_tickers", FUTURES, "/fapi/v1/ticker/24hr", "futures", weight=40),
        Endpoint("funding", FUTURES, "/fapi/v1/premiumIndex", "futures"),
        Endpoint("funding_intervals", FUTURES, "/fapi/v1/fundingInfo", "futures"),
        Endpoint("spot_tickers", SPOT, "/api/v1/ticker/24hr", "spot", weight=40),
        Endpoint("instruments", FUTURES, "/fapi/v1/exchangeInfo", "futures", every_s=HOUR, timeout_s=20),
        Endpoint("spot_instruments", SPOT, "/api/v1/exchangeInfo", "spot", every_s=HOUR, timeout_s=20),
        # Not documented, but it responds as on Binance. Only for the most traded: open interest is partial.
        Endpoint(
            "open_interest",
            FUTURES,
            "/fapi/v1/openInterest",
            "futures",
            _symbol,
            fan_out=FanOut(of=TRADED, within=FUNDED, without=HALTED, top=100),
        ),
        Endpoint(
            "perp_bars",
            FUTURES,
            "/fapi/v1/klines",
            "futures",
            _klines,
            # Weight 1 as long as fewer than 100 bars are requested.
            bars=Bars(most=99),
            fan_out=FanOut(of=TRADED, within=FUNDED, without=HALTED, top=100, rest_s=HOUR),
        ),
        Endpoint(
            "spot_bars",
            SPOT,
            "/api/v1/klines",
            "spot",
            _klines,
            # The spot page gives klines no weight; the futures page's for fewer than 500 bars is assumed.
            weight=2,
            bars=Bars(most=99),
            fan_out=FanOut(
                of=Keys("spot_tickers", _traded_in_dollars),
                without=Keys("spot_instruments", _not_trading),
                top=100,
                rest_s=HOUR,
            ),
        ),
        Endpoint("settlements", FUTURES, "/fapi/v1/fundingRate", "futures", _two_hours, every_s=HOUR),
        # Documented for v3 only. Every symbol once an hour, nine a minute.
        Endpoint(
            "index_components",
            FUTURES,
            "/fapi/v3/indexreferences",
            "futures",
            _symbol,
            every_s=300,
            fan_out=FanOut(of=TRADED, within=FUNDED, without=HALTED, top=0, rest_s=HOUR),
        ),
    ),
    streams=(
        # The server pings every 5 minutes (answered by the client); a connection lives 24 hours. Minutes without any
        # forced order happen, so the silence limit is long and liveness is proved by pings of our own.
        Stream("liquidations", STREAMS, "/ws/!forceOrder@arr", silence_s=1800),
    ),
    history=(
        _bar_history("perp_bars", "1m", 50, 1),
        _bar_history("spot_bars", "1m", 20, 1),
        _bar_history("perp_bars", "1d", 300, 400),
        _bar_history("spot_bars", "1d", 50, 400),
        History(
            "settlements",
            None,
            FUTURES,
            "/fapi/v1/fundingRate",
            "futures",
            settlement_span,
            settlement_times,
            most=1000,
            order="oldest",
            days=400,
            like="perp_bars",
            top=300,
        ),
        _bar_history("perp_bars", "1h", 100, 90),
        _bar_history("spot_bars", "1h", 20, 90),
    ),
)
