"""KuCoin's archive: the list of its files, and zipped CSV a day with MD5 checksums.

Bitcoin is called BTC in it, not XBT, spot pairs are written without a hyphen, and some checksums are wrong.
"""

import hashlib
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import lru_cache

from sandbox.market.noise import fraction
from sandbox.market.world import World
from sandbox.wire.candles import candles
from sandbox.wire.endpoint import Endpoint, Request, Response
from sandbox.wire.files import day_of, list_objects, pack, send_file_or_checksum, start_of
from sandbox.wire.settlements import settlements

HOST, POOL = "historical-data.kucoin.com", "kucoin_archive"
FIRST = date(2022, 12, 1)
WRONG_CHECKSUM = 0.0
"""Share of the files whose checksum is another one's."""


class Archive:
    """The files over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        listings = world.universe.listings
        spot = world.universe.rows("kucoin", "spot").tolist()
        perps = [row for row in world.universe.rows("kucoin", "perp").tolist() if not listings[row].inverse]
        self.by_name = {
            "futures": {listings[row].symbol.replace("XBT", "BTC"): row for row in perps},
            "spot": {listings[row].symbol.replace("-", ""): row for row in spot},
        }
        self.trees: dict[str, tuple[str, Callable[[int, str, int, int], Iterator[str]]]] = {
            "data/futures/daily/klines/{}/1m/": ("1m", self._candles),
            "data/futures/daily/fundingRates/{}/": ("fundingRates", self._settlements),
            "data/spot/daily/klines/{}/1m/": ("1m", self._spot_candles),
        }
        self.file = lru_cache(64)(self._file)

    def list_files(self, request: Request) -> Response:
        """GET of the bucket."""
        prefix = request.query.get("prefix", "")

        def names() -> Iterator[tuple[str, str, int]]:
            for tree, (kind, _) in self.trees.items():
                for name in self._rows(tree) if prefix.startswith(tree.partition("{}")[0]) else ():
                    for day in self._days(tree, name, request.now_ms) if tree.format(name) == prefix else ():
                        path = f"{prefix}{name}-{kind}-{day}.zip"
                        yield path, hashlib.md5(path.encode(), usedforsecurity=False).hexdigest(), 20_000
                        yield f"{path}.CHECKSUM", "c", 60

        return list_objects(request, "historical-data", names())

    def send_file(self, tree: str) -> Callable[[Request], Response]:
        """GET of a file or its checksum."""
        kind = self.trees[tree][0]

        def respond(request: Request) -> Response:
            name = request.query["name"]

            def content(day: str) -> bytes | None:
                there = day in {str(one) for one in self._days(tree, name, request.now_ms)}
                return self.file(tree, name, day) if there else None

            def is_wrong(day: str) -> bool:
                return fraction("kucoin checksum", name, day) < WRONG_CHECKSUM

            return send_file_or_checksum(request.query["file"], f"{name}-{kind}-", "md5", content, is_wrong)

        return respond

    def endpoints(self) -> list[Endpoint]:
        """The list and the files."""
        files = [
            Endpoint("kucoin", HOST, f"/{tree.format('<name:str>')}<file:str>", self.send_file(tree), POOL)
            for tree in self.trees
        ]
        return [Endpoint("kucoin", HOST, "/", self.list_files, POOL), *files]

    def _rows(self, tree: str) -> dict[str, int]:
        return self.by_name[tree.split("/")[1]]

    def _days(self, tree: str, name: str, now_ms: int) -> Iterator[date]:
        if name not in self._rows(tree):
            return
        listing = self.world.universe.listings[self._rows(tree)[name]]
        day, end = max(FIRST, day_of(listing.listed_ms)), day_of(min(now_ms - 3_600_000, listing.delisted_ms))
        while day < end:
            yield day
            day += timedelta(days=1)

    def _file(self, tree: str, name: str, day: str) -> bytes:
        kind, lines = self.trees[tree]
        begin = start_of(date.fromisoformat(day))
        return pack(f"{name}-{kind}-{day}.csv", lines(self._rows(tree)[name], name, begin, begin + 86_400_000))

    def _candles(self, row: int, name: str, begin_ms: int, end_ms: int) -> Iterator[str]:
        yield "time,open,high,low,close,volume"
        size = self.world.universe.listings[row].contract_size
        for at, *prices, volume, _, _, _ in candles(self.world, row, 1, begin_ms, end_ms - 1, 1440, end_ms).rows():
            yield f"{at}," + ",".join(f"{price:.20f}" for price in prices) + f",{round(volume / size)}"

    def _spot_candles(self, row: int, name: str, begin_ms: int, end_ms: int) -> Iterator[str]:
        yield "time,open,close,high,low,volume,turnover"
        for at, o, h, low, c, *sizes, _, _ in candles(self.world, row, 1, begin_ms, end_ms - 1, 1440, end_ms).rows():
            yield f"{at // 1000}," + ",".join(f"{value:.20f}" for value in (o, c, h, low, *sizes))

    def _settlements(self, row: int, name: str, begin_ms: int, end_ms: int) -> Iterator[str]:
        yield "symbol,time,fundingRate"
        for at, rate, _ in reversed(settlements(self.world, row, end_ms - 1, 24)):
            if at >= begin_ms:
                yield f"{name},{at},{rate:.6f}"


def endpoints(world: World) -> list[Endpoint]:
    """The list and the files."""
    return Archive(world).endpoints()
