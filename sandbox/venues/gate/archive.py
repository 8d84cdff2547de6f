"""Gate's archive: the list of a month's files of all contracts, and gzipped CSV without a header.

ETags are the MD5 of the files; minutes without a trade are absent, and some files are cut off within their last line.
"""

import hashlib
from collections.abc import Callable, Iterator
from datetime import date
from functools import lru_cache

from sandbox.market.noise import fraction
from sandbox.market.world import World
from sandbox.wire.candles import candles
from sandbox.wire.endpoint import Endpoint, Request, Response
from sandbox.wire.files import NOT_FOUND, day_of, list_objects, next_month, pack, start_of
from sandbox.wire.settlements import settlements

HOST, BUCKET_HOST, POOL = "download.gatedata.org", "gateio-public-data.s3.ap-northeast-1.amazonaws.com", "gate_archive"
CONTRACTS = 5
"""Of all contracts, so many have files: the ETags of a list are those of whole files."""
QUIET, CUT_OFF, WRONG_ETAG = 0.02, 0.0, 0.0
"""Shares of the minutes that have no trade, of the files that are cut off, and of the files that are not those of the
list."""

Lines = Callable[[int, int, int], Iterator[str]]


class Archive:
    """The files over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        listings = world.universe.listings
        rows = [row for row in world.universe.rows("gate", "perp").tolist() if not listings[row].inverse][:CONTRACTS]
        self.by_symbol = {listings[row].symbol: row for row in rows}
        self.types: dict[str, Lines] = {"candlesticks_1m": self._candles, "funding_applies": self._settlements}
        self.file = lru_cache(64)(self._file)

    def list_files(self, request: Request) -> Response:
        """GET of the bucket: a type's month, of all contracts."""
        prefix = request.query.get("prefix", "")
        kind, _, month = prefix.removeprefix("futures_usdt/").rstrip("/").partition("/")

        def names() -> Iterator[tuple[str, str, int]]:
            for symbol in sorted(self.by_symbol):
                if (content := self._there(kind, month, symbol, request.now_ms)) is not None:
                    etag = hashlib.md5(content, usedforsecurity=False).hexdigest()
                    yield f"{prefix}{symbol}-{month}.csv.gz", etag, len(content)

        return list_objects(request, "gateio-public-data", names())

    def send_file(self, request: Request) -> Response:
        """GET of a file."""
        kind, month = request.query["kind"], request.query["month"]
        symbol = request.query["file"].removesuffix(f"-{month}.csv.gz")
        content = self._there(kind, month, symbol, request.now_ms)
        if content is None:
            return NOT_FOUND
        wrong = fraction("gate etag", kind, month, symbol) < WRONG_ETAG
        return Response(content + b"\0" * wrong, content_type="application/gzip")

    def _there(self, kind: str, month: str, symbol: str, now_ms: int) -> bytes | None:
        """A file, if its month has ended."""
        try:
            begin = date(int(month[:4]), int(month[4:]), 1)
        except ValueError:
            return None
        if kind not in self.types or symbol not in self.by_symbol:
            return None
        listing = self.world.universe.listings[self.by_symbol[symbol]]
        if next_month(begin) > day_of(now_ms) or next_month(begin) <= day_of(listing.listed_ms):
            return None
        return self.file(kind, begin, symbol)

    def _file(self, kind: str, begin: date, symbol: str) -> bytes:
        lines = list(self.types[kind](self.by_symbol[symbol], start_of(begin), start_of(next_month(begin))))
        if fraction("gate cut", kind, begin, symbol) < CUT_OFF:
            lines[-1] = lines[-1].rpartition(",")[0]
        return pack("", lines, "gzip")

    def _candles(self, row: int, begin_ms: int, end_ms: int) -> Iterator[str]:
        one, price = self.world.universe.listings[row], self.world.price_format[row]
        found = candles(self.world, row, 1, begin_ms, end_ms - 1, (end_ms - begin_ms) // 60_000, end_ms)
        for at, o, h, low, c, volume, *_ in found.rows():
            if fraction("gate quiet", row, at) >= QUIET:
                yield f"{at // 1000},{volume / one.contract_size:.6g}," + ",".join(
                    price % value for value in (c, h, low, o)
                )

    def _settlements(self, row: int, begin_ms: int, end_ms: int) -> Iterator[str]:
        for at, rate, _ in reversed(settlements(self.world, row, end_ms - 1, 24 * 31)):
            if at >= begin_ms:
                yield f"{at // 1000 + 1},{rate:.6f}"


def endpoints(world: World) -> list[Endpoint]:
    """The list and the files."""
    archive = Archive(world)
    return [
        Endpoint("gate", BUCKET_HOST, "/", archive.list_files, POOL),
        Endpoint("gate", HOST, "/futures_usdt/<kind:str>/<month:str>/<file:str>", archive.send_file, POOL),
    ]
