"""OKX's archive: a ZIP file a day with the minutes, or the settlements, of all swaps.

A day begins at 00:00 in UTC+8; there is no list and no checksum, and some days have no file.
"""

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
SWAPS = 20
"""Of all swaps, so many are in the files: a day of all would take seconds to make."""
MISSING = 0.01
"""Share of the days that have no file."""


class Archive:
    """The files over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rows = world.universe.rows("okx", "perp").tolist()[:SWAPS]
        self.file = lru_cache(16)(self._file)

    def endpoints(self) -> list[Endpoint]:
        """The files of both types."""
        types = (("candlesticks", "candlesticks", self._candles), ("swaprates", "fundingrates", self._settlements))
        return [
            Endpoint("okx", HOST, f"/{FOLDER}/{folder}/daily/<day:str>/<file:str>", self._send(name, lines), POOL)
            for folder, name, lines in types
        ]

    def _send(self, name: str, lines: Callable[[int, int], Iterator[str]]) -> Callable[[Request], Response]:
        def respond(request: Request) -> Response:
            text = request.query["file"].removeprefix(f"allswap-{name}-").removesuffix(".zip")
            try:
                day = date.fromisoformat(text)
            except ValueError:
                return NOT_FOUND
            published = day_of(request.now_ms + ZONE_MS - PUBLISHED_DAYS * DAY_MS)
            if request.query["day"] != f"{day:%Y%m%d}" or day > published or fraction(name, text) < MISSING:
                return NOT_FOUND
            return Response(self.file(name, day, lines), content_type="application/zip")

        return respond

    def _file(self, name: str, day: date, lines: Callable[[int, int], Iterator[str]]) -> bytes:
        begin, end = start_of(day) - ZONE_MS, start_of(day + timedelta(days=1)) - ZONE_MS
        return pack(f"allswap-{name}-{day}.csv", lines(begin, end))

    def _candles(self, begin_ms: int, end_ms: int) -> Iterator[str]:
        yield "instrument_name,open,high,low,close,vol,vol_ccy,vol_quote,open_time,confirm"
        for row in self.rows:
            one, price = self.world.universe.listings[row], self.world.price_format[row]
            for at, o, h, low, c, volume, quote, _, _ in candles(
                self.world, row, 1, begin_ms, end_ms - 1, 1440, end_ms
            ).rows():
                prices = ",".join(price % value for value in (o, h, low, c))
                contracts = (quote if one.inverse else volume) / one.contract_size
                yield f"{one.symbol},{prices},{trimmed(contracts, 4)},{trimmed(volume, 8)},{trimmed(quote, 8)},{at},1"

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
