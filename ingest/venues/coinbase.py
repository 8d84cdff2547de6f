"""Coinbase Exchange: US spot."""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from math import inf
from typing import Any

from ingest.declaration.endpoint import MINUTE_MS, Bars, Body, Endpoint, FanOut, Keys, Pool, Request
from ingest.declaration.history import STEPS_MS, History, Interval
from ingest.declaration.reduction import NearLevels
from ingest.declaration.venue import Venue

API = "api.exchange.coinbase.com"
COVERED = ("BTC-USD", "ETH-USD")
"""Products that are always requested: the premium is computed from them."""


def _others_traded(body: Body) -> Iterator[tuple[str, float]]:
    # 24 h volume in USD: coins times the last price. A product without a trade in 24 h has no figures.
    for product, stats in body.items():
        day = stats.get("stats_24hour", {})
        if product.endswith("-USD") and product not in COVERED and day.get("last"):
            yield product, float(day["last"]) * float(day.get("volume") or 0)


def _traded(body: Body) -> Iterator[tuple[str, float]]:
    yield from ((product, inf) for product in COVERED)
    yield from _others_traded(body)


def _not_trading(body: Body) -> Iterator[tuple[str, float]]:
    return ((row["id"], 0.0) for row in body if row["status"] != "online" or row.get("trading_disabled"))


def _second(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _candles(request: Request) -> dict[str, Any]:
    start_ms = request.tick_ms // MINUTE_MS * MINUTE_MS - request.bars * MINUTE_MS
    return {"granularity": 60, "start": _second(start_ms), "end": _second(request.tick_ms)}


def _bar_history(interval: Interval, top: int, days: int, sample: int) -> History:
    return History(
        "spot_bars",
        interval,
        API,
        lambda piece: f"/products/{piece.key}/candles",
        "ip",
        # Both ends inclusive.
        lambda piece: {
            "granularity": STEPS_MS[interval] // 1000,
            "start": _second(piece.begin_ms),
            "end": _second(piece.end_ms - 1000),
        },
        lambda body: [row[0] * 1000 for row in body],
        most=300,
        order="span",
        days=days,
        top=top,
        sample=sample,
    )


COINBASE = Venue(
    name="coinbase",
    # 10 requests a second per IP, 15 in a burst (https://docs.cdp.coinbase.com/exchange/rest-api/rate-limits); a fifth
    # is reserved for other clients at the same address.
    pools=(Pool("ip", 8, 1, history=2),),
    endpoints=(
        # https://docs.cdp.coinbase.com/api-reference/exchange-api/rest-api/products/get-all-known-trading-pairs
        Endpoint("spot_instruments", API, "/products", "ip", every_s=3600, timeout_s=20),
        # The documented /products/{id}/stats for all products at once. This form is not documented, so the products
        # that matter are also requested one by one.
        Endpoint("spot_tickers", API, "/products/stats", "ip"),
        Endpoint("product_tickers", API, "/products/{key}/ticker", "ip", fan_out=FanOut(always=COVERED)),
        # At most 300, newest first; minutes without a trade have no row
        # (https://docs.cdp.coinbase.com/api-reference/exchange-api/rest-api/products/get-product-candles).
        Endpoint(
            "spot_bars",
            API,
            "/products/{key}/candles",
            "ip",
            _candles,
            bars=Bars(most=299),
            fan_out=FanOut(
                of=Keys("spot_tickers", _others_traded),
                without=Keys("spot_instruments", _not_trading),
                always=COVERED,
                top=40,
                rest_s=3600,
            ),
        ),
        # Level 2 is the whole book, of a large product some ten thousand levels down to a cent. Levels further
        # than 6 % from the price are dropped, because no band is wider than 5 %
        # (https://docs.cdp.coinbase.com/api-reference/exchange-api/rest-api/products/get-product-book).
        Endpoint(
            "index_books",
            API,
            "/products/{key}/book",
            "ip",
            {"level": 2},
            every_s=300,
            fan_out=FanOut(of=Keys("spot_tickers", _traded), without=Keys("spot_instruments", _not_trading), top=25),
            timeout_s=20,
            reduce=partial(NearLevels, 0.06),
        ),
    ),
    history=(
        _bar_history("1m", 20, 1, 2),
        _bar_history("1d", 40, 400, 4),
        _bar_history("1h", 2, 90, 2),
    ),
    parallel=8,
)
