"""Hyperliquid's archive: an LZ4 file a day with the contexts of all coins of each minute, for requests that are signed.

Some minutes are seconds early, and some days have no file.
"""

import hashlib
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

import numpy as np

from sandbox.market.derivatives import funding_hours, funding_rate, open_interest
from sandbox.market.noise import fraction
from sandbox.market.world import World
from sandbox.wire.endpoint import Endpoint, Request, Response
from sandbox.wire.files import NOT_FOUND, day_of, pack, start_of
from sandbox.wire.numbers import pointed

HOST, POOL = "hyperliquid-archive.s3.ap-northeast-1.amazonaws.com", "hyperliquid_archive"
FIRST = date(2023, 5, 20)
HEADER = (
    "time,coin,funding,open_interest,prev_day_px,day_ntl_vlm,premium,"
    "oracle_px,mark_px,mid_px,impact_bid_px,impact_ask_px"
)
MARKETS = 20
"""So many coins are in a file: a day of all would take seconds to make."""
MISSING, EARLY = 0.01, 0.001
"""Shares of the days that have no file, and of the minutes that are early."""
RELEASE = 1
"""Of the files: those of another release have other ETags."""
FORBIDDEN = Response(b"<Error><Code>AccessDenied</Code></Error>", 403, content_type="application/xml")


class Archive:
    """The files over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        rows = world.universe.rows("hyperliquid", "perp").tolist()
        self.rows = [row for row in rows if not world.universe.listings[row].group][:MARKETS]
        self.file = lru_cache(4)(self._file)

    def respond(self, request: Request) -> Response:
        """GET or HEAD of a day's file; 403 unless the request is signed by somebody who pays."""
        signed = request.headers.get("authorization", "").startswith("AWS4-HMAC-SHA256 Credential=")
        if not signed or request.headers.get("x-amz-request-payer") != "requester":
            return FORBIDDEN
        text = request.query["file"].removesuffix(".csv.lz4")
        try:
            day = datetime.strptime(text, "%Y%m%d").replace(tzinfo=UTC).date()
        except ValueError:
            return NOT_FOUND
        is_there = FIRST <= day < day_of(request.now_ms) and fraction("contexts", text) >= MISSING
        if not is_there or request.query["file"] != f"{day:%Y%m%d}.csv.lz4":
            return NOT_FOUND
        content = self.file(day)
        etag = hashlib.md5(content + bytes([RELEASE]), usedforsecurity=False).hexdigest()
        return Response(content, headers={"ETag": f'"{etag}"'}, content_type="application/octet-stream")

    def _file(self, day: date) -> bytes:
        return pack("", self._lines(start_of(day) // 60_000), "lz4")

    def _lines(self, first: int) -> Iterator[str]:
        yield HEADER
        market, rows, minutes = self.world.market, np.array(self.rows), np.arange(first, first + 1440)
        index = np.exp(market.index_logs(rows, minutes))
        premium = market.premium(rows, minutes)
        before = np.exp(market.index_logs(rows, minutes - 1440))
        held = 2 * open_interest(market, rows, minutes)
        rates = funding_rate(market, rows, minutes, funding_hours(market, rows, minutes))
        listed, notional = market.listed(rows, minutes), self.world.universe.volume_usd[rows]
        for n, minute in enumerate(minutes.tolist()):
            early = timedelta(seconds=2 * (fraction("early", minute) < EARLY))
            at = (datetime.fromtimestamp(minute * 60, UTC) - early).strftime("%Y-%m-%dT%H:%M:%SZ")
            for m, row in enumerate(self.rows):
                if not listed[m, n]:
                    continue
                one = self.world.universe.listings[row]
                mark = pointed(index[m, n] * (1 + premium[m, n]), one.decimals)
                oracle, then = pointed(index[m, n], one.decimals), pointed(before[m, n], one.decimals)
                size, rate = pointed(held[m, n], one.lot_decimals), pointed(rates[m, n], 10)
                turnover, over = pointed(float(notional[m]), 4), pointed(premium[m, n], 10)
                values = (rate, size, then, turnover, over, oracle, mark, mark, mark, mark)
                yield f"{at},{one.symbol},{','.join(values)}"


def endpoints(world: World) -> list[Endpoint]:
    """The files."""
    files = Archive(world)
    return [
        Endpoint("hyperliquid", HOST, "/asset_ctxs/<file:str>", files.respond, POOL, method=method)
        for method in ("GET", "HEAD")
    ]
