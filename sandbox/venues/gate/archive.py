"""Gate's archive: the list of a month's files, and gzipped CSV without a header: of contracts by month, of spot by day.

ETags are the MD5 of the files; minutes without a trade are absent, and some files are cut off within their last line.
"""

import hashlib
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import lru_cache

from sandbox.market.noise import fraction
from sandbox.market.world import World
from sandbox.wire.candles import candles
from sandbox.wire.endpoint import Endpoint, Request, Response
from sandbox.wire.files import NOT_FOUND, day_of, list_objects, next_month, pack, start_of
from sandbox.wire.settlements import settlements

HOST, BUCKET_HOST, POOL = "download.gatedata.org", "gateio-public-data.s3.ap-northeast-1.amazonaws.com", "gate_archive"
MARKETS = 5
"""Of all contracts and all pairs, so many have files: the ETags of a list are those of whole files."""
QUIET, CUT_OFF, WRONG_ETAG = 0.02, 0.0, 0.0
"""Shares of the minutes that have no trade, of the files that are cut off, and of the files that are not those of the
list."""

Lines = Callable[[int, int, int], Iterator[str]]


class Archive:
    """The files over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        listings = world.universe.listings
        rows = [row for row in world.universe.rows("gate", "perp").tolist() if not listings[row].inverse][:MARKETS]
        spot = world.universe.rows("gate", "spot").tolist()[:MARKETS]
        self.by_symbol = {
            "futures_usdt": {listings[row].symbol: row for row in rows},
            "spot": {listings[row].symbol: row for row in spot},
        }
        self.types: dict[str, dict[str, Lines]] = {
            "futures_usdt": {"candlesticks_1m": self._candles, "funding_applies": self._settlements},
            "spot": {"candlesticks_1m": self._candles},
        }
        self.file = lru_cache(256)(self._file)

    def list_files(self, request: Request) -> Response:
        """GET of the bucket: a type's month, of all markets or of those whose names begin alike."""
        prefix = request.query.get("prefix", "")
        market, kind, month, beginning = (*prefix.split("/"), "", "", "")[:4]

        def names() -> Iterator[tuple[str, str, int]]:
            for symbol in sorted(self.by_symbol.get(market, ())):
                for period in self._periods(market, month):
                    name = f"{symbol}-{period}.csv.gz"
                    if name.startswith(beginning):
                        content = self._there(market, kind, period, symbol, request.now_ms)
                        if content is not None:
                            etag = hashlib.md5(content, usedforsecurity=False).hexdigest()
                            yield f"{market}/{kind}/{month}/{name}", etag, len(content)

        return list_objects(request, "gateio-public-data", names())

    def send_file(self, market: str) -> Callable[[Request], Response]:
        """GET of a file."""

        def respond(request: Request) -> Response:
            kind, month = request.query["kind"], request.query["month"]
            symbol, _, period = request.query["file"].removesuffix(".csv.gz").rpartition("-")
            there = period in self._periods(market, month)
            content = self._there(market, kind, period, symbol, request.now_ms) if there else None
            if content is None:
                return NOT_FOUND
            wrong = fraction("gate etag", kind, period, symbol) < WRONG_ETAG
            return Response(content + b"\0" * wrong, content_type="application/gzip")

        return respond

    def _periods(self, market: str, month: str) -> list[str]:
        """The periods of a month: itself, or of spot its days."""
        try:
            begin = date(int(month[:4]), int(month[4:]), 1)
        except ValueError:
            return []
        days = (next_month(begin) - begin).days
        return [f"{month}{day:02}" for day in range(1, days + 1)] if market == "spot" else [month]

    def _there(self, market: str, kind: str, period: str, symbol: str, now_ms: int) -> bytes | None:
        """A file, if its period has ended."""
        begin = date(int(period[:4]), int(period[4:6]), int(period[6:] or 1))
        end = begin + timedelta(days=1) if period[6:] else next_month(begin)
        if kind not in self.types[market] or symbol not in self.by_symbol[market]:
            return None
        listing = self.world.universe.listings[self.by_symbol[market][symbol]]
        if end > day_of(now_ms) or end <= day_of(listing.listed_ms):
            return None
        return self.file(market, kind, begin, end, symbol)

    def _file(self, market: str, kind: str, begin: date, end: date, symbol: str) -> bytes:
        lines = list(self.types[market][kind](self.by_symbol[market][symbol], start_of(begin), start_of(end)))
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
        *(
            Endpoint("gate", HOST, f"/{market}/<kind:str>/<month:str>/<file:str>", archive.send_file(market), POOL)
            for market in archive.types
        ),
    ]
