"""OKX's archive: a ZIP file a day with the minutes of all swaps or of all spot pairs, or the settlements of all swaps.

A day begins at 00:00 in UTC+8; there is no list and no checksum, and some days have no file.
"""

import hashlib
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import lru_cache

from sandbox.market.noise import fraction
from sandbox.market.world import World
from sandbox.wire.candles import candles
from sandbox.wire.endpoint import Endpoint, Request, Response
from sandbox.wire.files import NOT_FOUND, day_of, pack, start_of
from sandbox.wire.numbers import trimmed
from sandbox.wire.settlements import settlements

HOST, POOL = "static.okx.com", "okx_archive"
FOLDER = "cdn/okex/traderecords"
ZONE_MS, DAY_MS, PUBLISHED_DAYS = 8 * 3_600_000, 86_400_000, 2
MARKETS = 20
"""Of all swaps and of all spot pairs, so many are in the files: a day of all would take seconds to make."""
MISSING = 0.01
"""Share of the days that have no file."""
RELEASE = 1
"""Of the files: those of another release have other bytes and ETags."""

Lines = Callable[[int, int], Iterator[str]]


class Archive:
    """The files over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rows = world.universe.rows("okx", "perp").tolist()[:MARKETS]
        self.spot = world.universe.rows("okx", "spot").tolist()[:MARKETS]
        self.file = lru_cache(16)(self._file)

    def endpoints(self) -> list[Endpoint]:
        """The files of all types, by folder."""
        folders: dict[str, dict[str, Lines]] = {
            "candlesticks": {"allswap-candlesticks": self._candles, "allspot-candlesticks": self._spot_candles},
            "swaprates": {"allswap-fundingrates": self._settlements},
        }
        return [
            Endpoint(
                "okx", HOST, f"/{FOLDER}/{folder}/daily/<day:str>/<file:str>", self._send(types), POOL, method=method
            )
            for folder, types in folders.items()
            for method in ("GET", "HEAD")
        ]

    def _send(self, types: dict[str, Lines]) -> Callable[[Request], Response]:
        def respond(request: Request) -> Response:
            name, text = request.query["file"][:-15], request.query["file"][-14:].removesuffix(".zip")
            try:
                day = date.fromisoformat(text)
            except ValueError:
                return NOT_FOUND
            published = day_of(request.now_ms + ZONE_MS - PUBLISHED_DAYS * DAY_MS)
            if name not in types or request.query["day"] != f"{day:%Y%m%d}":
                return NOT_FOUND
            if day > published or fraction(name, text) < MISSING:
                return NOT_FOUND
            content = self.file(name, day, RELEASE, types[name])
            etag = hashlib.md5(content, usedforsecurity=False).hexdigest()
            return Response(content, headers={"ETag": f'"{etag}"'}, content_type="application/zip")

        return respond

    def _file(self, name: str, day: date, release: int, lines: Lines) -> bytes:
        begin, end = start_of(day) - ZONE_MS, start_of(day + timedelta(days=1)) - ZONE_MS
        return pack(f"{name}-{day}.{release}.csv", lines(begin, end))

    def _candles(self, begin_ms: int, end_ms: int) -> Iterator[str]:
        return self._candles_of(self.rows, begin_ms, end_ms)

    def _spot_candles(self, begin_ms: int, end_ms: int) -> Iterator[str]:
        return self._candles_of(self.spot, begin_ms, end_ms)

    def _candles_of(self, rows: list[int], begin_ms: int, end_ms: int) -> Iterator[str]:
        yield "instrument_name,open,high,low,close,vol,vol_ccy,vol_quote,open_time,confirm"
        for row in rows:
            one, price = self.world.universe.listings[row], self.world.price_format[row]
            for at, o, h, low, c, volume, quote, _, _ in candles(
                self.world, row, 1, begin_ms, end_ms - 1, 1440, end_ms
            ).rows():
                prices = ",".join(price % value for value in (o, h, low, c))
                # Of a spot pair `vol` is the base currency, and `vol_ccy` the quote currency.
                spot = one.type == "spot"
                vol = volume if spot else (quote if one.inverse else volume) / one.contract_size
                sizes = f"{trimmed(vol, 8 if spot else 4)},{trimmed(quote if spot else volume, 8)},{trimmed(quote, 8)}"
                yield f"{one.symbol},{prices},{sizes},{at},1"

    def _settlements(self, begin_ms: int, end_ms: int) -> Iterator[str]:
        yield "instrument_name,funding_rate,funding_time"
        for row in self.rows:
            for at, rate, _ in reversed(settlements(self.world, row, end_ms - 1, 24)):
                if at >= begin_ms:
                    late_ms = int(4000 * fraction("late", row, at))
                    yield f"{self.world.universe.listings[row].symbol},{rate:.16f},{at + late_ms}"


def endpoints(world: World) -> list[Endpoint]:
    """The files."""
    return Archive(world).endpoints()
