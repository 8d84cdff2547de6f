"""Bitget's archive: a sheet in a ZIP file a market and day or month, with minutes.

A day begins at 00:00 in UTC+8; there is no list and no checksum, and what is not there is forbidden.
"""

import hashlib
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from sandbox.market.noise import fraction
from sandbox.market.world import World
from sandbox.wire.candles import candles
from sandbox.wire.endpoint import Endpoint, Request, Response
from sandbox.wire.files import day_of, next_month, pack, start_of
from sandbox.wire.numbers import trimmed

HOST, POOL = "img.bitgetimg.com", "bitget_archive"
ZONE_MS, DAY_MS, PUBLISHED_DAYS = 8 * 3_600_000, 86_400_000, 2
MONTHS_FROM = date(2025, 1, 1)
"""Files of whole months are there from this one on."""
MISSING = 0.01
"""Share of the days that have no file."""
FORBIDDEN = Response(b"<Error><Code>AccessDenied</Code></Error>", 403, content_type="application/xml")


class Archive:
    """The files over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        listings = world.universe.listings
        perps = [row for row in world.universe.rows("bitget", "perp").tolist() if not listings[row].inverse]
        self.rows = {
            "UMCBL": {listings[row].symbol: row for row in perps},
            "SP": {listings[row].symbol: row for row in world.universe.rows("bitget", "spot").tolist()},
        }
        self.file = lru_cache(16)(self._file)

    def endpoints(self) -> list[Endpoint]:
        """The files of days and of months."""
        path = "<symbol:str>/<folder:str>/<file:str>"
        return [
            Endpoint("bitget", HOST, f"/online/{tree}/{path}", self._send(length), POOL, method=method)
            for tree, length in (("kline", "%Y%m%d"), ("kline_month", "%Y%m"))
            for method in ("GET", "HEAD")
        ]

    def _send(self, length: str) -> Callable[[Request], Response]:
        def respond(request: Request) -> Response:
            symbol, folder, name = (request.query[part] for part in ("symbol", "folder", "file"))
            row = self.rows.get(folder, {}).get(symbol)
            text = name.removeprefix(f"{symbol}_{folder}_1min_").removesuffix(".zip")
            try:
                first = datetime.strptime(text, length).replace(tzinfo=UTC).date()
            except ValueError:
                return FORBIDDEN
            of_month = length == "%Y%m"
            until = next_month(first) if of_month else first + timedelta(days=1)
            published = day_of(request.now_ms + ZONE_MS - PUBLISHED_DAYS * DAY_MS)
            absent = first < MONTHS_FROM if of_month else fraction("bitget file", symbol, text) < MISSING
            if row is None or absent or until - timedelta(days=1) > published:
                return FORBIDDEN
            if start_of(until) <= self.world.universe.listings[row].listed_ms:
                return FORBIDDEN
            content = self.file(row, name, first, until)
            etag = hashlib.md5(content, usedforsecurity=False).hexdigest()
            return Response(content, headers={"ETag": f'"{etag}"'}, content_type="application/zip")

        return respond

    def _file(self, row: int, name: str, first: date, until: date) -> bytes:
        lines = self._candles(row, start_of(first) - ZONE_MS, start_of(until) - ZONE_MS)
        return pack(name.replace(".zip", ".xlsx"), lines, "xlsx")

    def _candles(self, row: int, begin_ms: int, end_ms: int) -> Iterator[str]:
        yield "timestamp,open,high,low,close,basevolume,usdtvolume"
        price, most = self.world.price_format[row], (end_ms - begin_ms) // 60_000
        found = candles(self.world, row, 1, begin_ms, end_ms - 1, most, end_ms)
        for at, o, h, low, c, volume, quote, _, _ in found.rows():
            prices = ",".join(price % value for value in (o, h, low, c))
            yield f"{at // 1000},{prices},{trimmed(volume, 8)},{trimmed(quote, 8)}"


def endpoints(world: World) -> list[Endpoint]:
    """The files."""
    return Archive(world).endpoints()
