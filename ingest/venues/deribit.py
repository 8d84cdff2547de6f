"""Deribit: options on BTC and ETH, settled in the coin and in USDC."""

import re
from typing import Any

import orjson

from ingest.declaration.endpoint import Endpoint, FanOut, Pool, Request
from ingest.declaration.venue import Venue

API = "www.deribit.com"
CURRENCIES = ("BTC", "ETH", "USDC")
ERROR = re.compile(r'"error"\s*:\s*\{')


def _summary(request: Request) -> dict[str, Any]:
    return {"currency": request.key, "kind": "option"}


def _instruments(request: Request) -> dict[str, Any]:
    return {"currency": request.key, "kind": "option", "expired": "false"}


def _index(request: Request) -> dict[str, Any]:
    return {"index_name": request.key}


def _fault(body: str) -> str | None:
    """An error of JSON-RPC, whatever the status."""
    if ERROR.search(body[:400]) is None:
        return None
    return f"error: {orjson.loads(body).get('error')}"


DERIBIT = Venue(
    name="deribit",
    # Requests without an account are limited per IP by a number that is not published; a registered account without
    # any volume has 20 a second (https://docs.deribit.com/articles/rate-limits). Eight requests in five minutes need
    # no more than this.
    pools=(Pool("ip", 5, 1),),
    fault=_fault,
    endpoints=(
        # https://docs.deribit.com/api-reference/market-data/public-get_book_summary_by_currency; USDC brings the
        # linear options of all coins.
        Endpoint(
            "option_tickers",
            API,
            "/api/v2/public/get_book_summary_by_currency",
            "ip",
            _summary,
            every_s=300,
            fan_out=FanOut(always=CURRENCIES),
            timeout_s=20,
        ),
        Endpoint(
            "option_index",
            API,
            "/api/v2/public/get_index_price",
            "ip",
            _index,
            every_s=300,
            fan_out=FanOut(always=("btc_usd", "eth_usd")),
        ),
        Endpoint(
            "option_instruments",
            API,
            "/api/v2/public/get_instruments",
            "ip",
            _instruments,
            every_s=3600,
            fan_out=FanOut(always=CURRENCIES),
            timeout_s=20,
        ),
    ),
    parallel=3,
)
