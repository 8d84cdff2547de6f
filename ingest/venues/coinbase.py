"""Coinbase Exchange: US spot."""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from math import inf
from typing import Any

from ingest.declaration.endpoint import Ask, Bars, Body, Each, Endpoint, Keys, Pool, Venue
from ingest.declaration.reduction import NearLevels

API = "api.exchange.coinbase.com"
COVERED = ("BTC-USD", "ETH-USD")
"""Products that are asked whatever the lists say: the premium is made of them."""


def _others_traded(body: Body) -> Iterator[tuple[str, float]]:
    # Dollars of a day: coins at the last price. A product without a trade today has no figures.
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


def _candles(ask: Ask) -> dict[str, Any]:
    start_ms = ask.tick_ms // 60_000 * 60_000 - ask.bars * 60_000
    return {"granularity": 60, "start": _second(start_ms), "end": _second(ask.tick_ms)}


COINBASE = Venue(
    name="coinbase",
    # 10 requests a second per IP, 15 in a burst (https://docs.cdp.coinbase.com/exchange/rest-api/rate-limits); a fifth
    # is left to whoever else uses the same address.
    pools=(Pool("ip", 8, 1, history=2),),
    endpoints=(
        # https://docs.cdp.coinbase.com/api-reference/exchange-api/rest-api/products/get-all-known-trading-pairs
        Endpoint("spot_instruments", API, "/products", "ip", every_s=3600, timeout_s=20),
        # The documented /products/{id}/stats for all products at once. This form is not documented, so the products
        # that matter are also asked for one by one.
        Endpoint("spot_tickers", API, "/products/stats", "ip"),
        Endpoint("product_tickers", API, "/products/{key}/ticker", "ip", each=Each(always=COVERED)),
        # At most 300, newest first; minutes without a trade have no row
        # (https://docs.cdp.coinbase.com/api-reference/exchange-api/rest-api/products/get-product-candles).
        Endpoint(
            "spot_bars",
            API,
            "/products/{key}/candles",
            "ip",
            _candles,
            bars=Bars(most=299),
            each=Each(
                of=Keys("spot_tickers", _others_traded),
                without=Keys("spot_instruments", _not_trading),
                always=COVERED,
                top=40,
                rest_s=3600,
            ),
        ),
        # Level 2 is the whole book, of a great product some ten thousand levels down to a cent. What lies further than
        # 6 % from the price is not kept, because no band is wider than 5 %
        # (https://docs.cdp.coinbase.com/api-reference/exchange-api/rest-api/products/get-product-book).
        Endpoint(
            "index_books",
            API,
            "/products/{key}/book",
            "ip",
            {"level": 2},
            every_s=300,
            each=Each(of=Keys("spot_tickers", _traded), without=Keys("spot_instruments", _not_trading), top=25),
            timeout_s=20,
            reduce=partial(NearLevels, 0.06),
        ),
    ),
    parallel=8,
)
