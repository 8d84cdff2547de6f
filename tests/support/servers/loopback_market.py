"""A small market on loopback: tickers that name the keys, bars by key, a list in pages."""

from typing import Any

from aiohttp import web

from ingest.declaration.endpoint import Bars, Endpoint, FanOut, Keys, Pool, Request
from tests.support.servers.loopback_venue import (
    HOST,
    Seen,
)

POOL = Pool("all", 100_000, 1)


def volumes(body: Any) -> Any:
    return ((row["symbol"], row["volume"]) for row in body)


def symbol(request: Request) -> dict[str, Any]:
    return {"symbol": request.key, "limit": request.bars}


TICKERS = Endpoint("perp_tickers", HOST, "/tickers", "all")


BARS = Endpoint(
    "perp_bars",
    HOST,
    "/bars",
    "all",
    symbol,
    bars=Bars(),
    fan_out=FanOut(Keys("perp_tickers", volumes), top=2, rest_s=3600),
)


def market(seen: Seen, n: int) -> web.Response:
    if seen.path.endswith("/tickers"):
        return web.json_response([{"symbol": name, "volume": rank} for rank, name in enumerate("abcd")])
    if seen.path.endswith("/pages"):
        return web.json_response({"next": {"": "x", "x": "y", "y": ""}[seen.query.get("cursor", "")]})
    return web.json_response([seen.query])
