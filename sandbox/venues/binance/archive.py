"""Binance's archive: the list of its files; statistics, minutes, marks and settlements as zipped CSV with checksums.

Its known defects are here too: days without a file, files that have every row twice, files with and without a header.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache, partial
from itertools import pairwise
from typing import Literal

import numpy as np

from sandbox.derived.positioning import long_of_late, takers
from sandbox.market.derivatives import liquidations, open_interest
from sandbox.market.noise import Floats, Ints, fraction
from sandbox.market.world import World
from sandbox.venues.binance.statistics import RATIOS, STARTS_FROM_MS
from sandbox.wire.candles import candles
from sandbox.wire.endpoint import Endpoint, Request, Response
from sandbox.wire.files import day_of, list_objects, next_month, pack, send_file_or_checksum, start_of
from sandbox.wire.settlements import settlements

HOST, BUCKET_HOST, BUCKET = "data.binance.vision", "s3-ap-northeast-1.amazonaws.com", "data.binance.vision"
METRICS_HEADER = (
    "create_time,symbol,sum_open_interest,sum_open_interest_value,count_toptrader_long_short_ratio,"
    "sum_toptrader_long_short_ratio,count_long_short_ratio,sum_taker_long_short_vol_ratio"
)
KLINES_HEADER = (
    "open_time,open,high,low,close,volume,close_time,quote_volume,count,taker_buy_volume,taker_buy_quote_volume,ignore"
)
LIQUIDATIONS_HEADER = (
    "time,side,order_type,time_in_force,original_quantity,price,average_price,order_status,last_fill_quantity,"
    "accumulated_fill_quantity"
)
STEP, DAY_MS = 5, 86_400_000
SPOT_MICROSECONDS_FROM = date(2025, 1, 1)
MONTH_PUBLISHED_DAYS = 5
"""A file of a month comes so long after its end."""
MISSING, DOUBLED, WRONG_CHECKSUM, HEADERLESS, LACKING = 0.01, 0.02, 0.0, 0.1, 0.0
"""Shares of the files that are not there, that have their rows twice, whose checksum is another one's, and (of futures'
minutes) that have no header, or, of a month, lack a day."""
RELEASE = 1
"""Of the files: those of another release have other ETags."""

Values = Callable[[int, Ints], Floats]
"""(row of a market, minutes) → its values at these minutes."""


Market = Literal["um", "cm", "spot"]


@dataclass(frozen=True)
class Tree:
    """The files of one type: their folder with the symbol in it, the name between symbol and period, whose markets they
    are of, their lines of [begin, end) in ms, and the day of the last file, of types that have ended."""

    folder: str
    name: str
    first: date
    market: Market
    size: int
    lines: Callable[[int, int, int], Iterator[str]]
    last: date | None = None

    @property
    def monthly(self) -> bool:
        return "/monthly/" in self.folder


LIQUIDATIONS = "liquidationSnapshot"
LAST_LIQUIDATIONS: tuple[tuple[str, Market, date], ...] = (
    ("data3", "um", date(2024, 3, 31)),
    ("data/futures/cm/daily", "cm", date(2024, 10, 14)),
)
"""Of the files of liquidations: the folder above, whose they are, and the day of the last one."""


class Archive:
    """The files over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        listings = world.universe.listings
        perps = world.universe.rows("binance", "perp").tolist()
        rows = {
            "um": [row for row in perps if not listings[row].inverse],
            "cm": [row for row in perps if listings[row].inverse],
            "spot": world.universe.rows("binance", "spot").tolist(),
        }
        self.by_symbol = {market: {listings[row].symbol: row for row in rows[market]} for market in rows}
        um, cm, spot = "data/futures/um", "data/futures/cm", "data/spot"
        self.trees = [
            Tree(f"{um}/daily/metrics/{{}}", "metrics", date(2020, 9, 1), "um", 11_000, self._metrics),
            Tree(f"{um}/daily/klines/{{}}/1m", "1m", date(2019, 12, 31), "um", 40_000, self._klines),
            Tree(f"{um}/monthly/klines/{{}}/1m", "1m", date(2019, 9, 1), "um", 1_200_000, self._klines),
            Tree(f"{spot}/daily/klines/{{}}/1m", "1m", date(2017, 8, 17), "spot", 50_000, self._spot_klines),
            Tree(f"{spot}/monthly/klines/{{}}/1m", "1m", date(2017, 8, 1), "spot", 1_500_000, self._spot_klines),
            Tree(f"{um}/monthly/fundingRate/{{}}", "fundingRate", date(2020, 1, 1), "um", 900, self._settlements),
            *(
                Tree(f"{um}/{length}/{kind}Klines/{{}}/1m", "1m", first, "um", size, partial(self._values, of, samples))
                for kind, first, samples, of in (
                    ("markPrice", date(2019, 12, 23), 60, self._mark),
                    ("indexPrice", date(2020, 1, 1), 60, self._index),
                    ("premiumIndex", date(2020, 1, 1), 12, self._premium),
                )
                for length, size in (("daily", 36_000), ("monthly", 1_100_000))
            ),
            Tree(f"{cm}/daily/metrics/{{}}", "metrics", date(2021, 12, 1), "cm", 11_000, self._coin_metrics),
            Tree(f"{cm}/daily/klines/{{}}/1m", "1m", date(2020, 8, 10), "cm", 40_000, self._coin_klines),
            Tree(f"{cm}/monthly/klines/{{}}/1m", "1m", date(2020, 8, 1), "cm", 1_200_000, self._coin_klines),
            Tree(f"{cm}/monthly/fundingRate/{{}}", "fundingRate", date(2020, 8, 1), "cm", 900, self._settlements),
            *(
                Tree(
                    f"{of}/{LIQUIDATIONS}/{{}}",
                    LIQUIDATIONS,
                    date(2023, 6, 25),
                    market,
                    13_000,
                    self._liquidations,
                    last,
                )
                for of, market, last in LAST_LIQUIDATIONS
            ),
        ]
        self.file = lru_cache(512)(self._file)

    def list_files(self, request: Request) -> Response:
        """GET of the bucket."""
        prefix = request.query.get("prefix", "")

        def names() -> Iterator[tuple[str, str, int]]:
            for tree in self.trees:
                before, after = tree.folder.split("{}")
                if not (prefix.startswith(before) and prefix.endswith(f"{after}/")):
                    continue
                symbol = prefix.removeprefix(before).removesuffix(f"{after}/")
                for period in self._periods(tree, symbol, request.now_ms):
                    name = f"{prefix}{symbol}-{tree.name}-{period}.zip"
                    if tree.last:
                        content = self.file(self.trees.index(tree), symbol, period)
                        yield name, hashlib.md5(content, usedforsecurity=False).hexdigest(), len(content)
                        continue
                    yield name, _etag(name), tree.size
                    yield f"{name}.CHECKSUM", _etag(f"{name}.CHECKSUM"), 100

        return list_objects(request, BUCKET, names())

    def send_file(self, tree: Tree) -> Callable[[Request], Response]:
        """GET of a file or its checksum."""

        def respond(request: Request) -> Response:
            symbol, periods = request.query["symbol"], set(self._periods(tree, request.query["symbol"], request.now_ms))

            def content(period: str) -> bytes | None:
                return self.file(self.trees.index(tree), symbol, period) if period in periods else None

            def is_wrong(period: str) -> bool:
                return fraction("archive checksum", symbol, period) < WRONG_CHECKSUM

            return send_file_or_checksum(request.query["file"], f"{symbol}-{tree.name}-", "sha256", content, is_wrong)

        return respond

    def endpoints(self) -> list[Endpoint]:
        """The list and the files."""
        files = [
            Endpoint(
                "binance",
                HOST,
                f"/{tree.folder.format('<symbol:str>')}/<file:str>",
                self.send_file(tree),
                "binance_archive",
            )
            for tree in self.trees
        ]
        return [Endpoint("binance", BUCKET_HOST, f"/{BUCKET}", self.list_files, "binance_archive"), *files]

    def _periods(self, tree: Tree, symbol: str, now_ms: int) -> Iterator[str]:
        """The days or months with a file: those of the market that have ended, the last day an hour ago."""
        row = self.by_symbol[tree.market].get(symbol)
        if row is None:
            return
        listing = self.world.universe.listings[row]
        day = max(tree.first, day_of(listing.listed_ms))
        ended = day_of(max(min(now_ms - 3_600_000, listing.delisted_ms), 0))
        ended = min(ended, tree.last + timedelta(days=1)) if tree.last else ended
        published = day_of(max(now_ms - MONTH_PUBLISHED_DAYS * DAY_MS, 0))
        while day < ended:
            until = next_month(day) if tree.monthly else day + timedelta(days=1)
            if until > (published if tree.monthly else ended):
                return
            period = day.isoformat()[: 7 if tree.monthly else 10]
            if fraction("archive missing", symbol, period) >= MISSING:
                yield period
            day = until

    def _file(self, number: int, symbol: str, period: str) -> bytes:
        tree = self.trees[number]
        day = date.fromisoformat(f"{period}-01" if tree.monthly else period)
        until = next_month(day) if tree.monthly else day + timedelta(days=1)
        header, *lines = tree.lines(self.by_symbol[tree.market][symbol], start_of(day), start_of(until))
        if tree.monthly and tree.name == "1m" and fraction("archive lacking", symbol, period) < LACKING:
            lines = lines[1440:]
        if fraction("archive doubled", symbol, period) < DOUBLED:
            lines = [line for line in lines for _ in range(2)]
        without = tree.market == "spot" or (
            tree.name == "1m" and fraction("archive header", symbol, period) < HEADERLESS
        )
        return pack(f"{symbol}-{tree.name}-{period}.csv", lines if without else [header, *lines])

    def _metrics(self, row: int, begin_ms: int, end_ms: int, coin_margined: bool = False) -> Iterator[str]:
        yield METRICS_HEADER
        listing, market, start = self.world.universe.listings[row], self.world.market, begin_ms // 60_000
        rows, starts = np.array([row]), np.arange(start, end_ms // 60_000, STEP)
        ends = starts + STEP
        size = open_interest(market, rows, ends)[0]
        mark = self._mark(row, ends)
        longs = {kind: np.rint(long_of_late(self.world, row, kind, starts) * 1e4) / 1e4 for kind in RATIOS.values()}
        taken = takers(self.world, rows, start, len(starts), STEP)
        labels = starts if begin_ms >= STARTS_FROM_MS else ends
        for n, minute in enumerate(labels.tolist()):
            ratios = [longs[kind][n] / (1 - longs[kind][n]) for kind in ("top_accounts", "top_positions", "accounts")]
            ratios.append(taken.buy[0][n] / max(taken.sell[0][n], 1e-12))
            at = datetime.fromtimestamp(minute * 60, UTC).strftime("%Y-%m-%d %H:%M:%S")
            shares = ",".join(f"{ratio:.8f}" for ratio in ratios)
            usd = size[n] * mark[n]
            held = (np.rint(usd / listing.contract_size), size[n]) if coin_margined else (size[n], usd)
            yield f"{at},{listing.symbol},{held[0]:.16f},{held[1]:.16f},{shares}"

    def _coin_metrics(self, row: int, begin_ms: int, end_ms: int) -> Iterator[str]:
        """As of USD-M, with contracts in the place of coins, and coins in the place of USD."""
        return self._metrics(row, begin_ms, end_ms, coin_margined=True)

    def _mark(self, row: int, minutes: Ints) -> Floats:
        """The mark price at these minutes."""
        market, rows = self.world.market, np.array([row])
        logs: Floats = market.index_logs(rows, minutes)[0] + market.premium(rows, minutes)[0]
        return np.exp(logs)

    def _index(self, row: int, minutes: Ints) -> Floats:
        logs: Floats = self.world.market.index_logs(np.array([row]), minutes)[0]
        return np.exp(logs)

    def _premium(self, row: int, minutes: Ints) -> Floats:
        logs: Floats = self.world.market.premium(np.array([row]), minutes)[0]
        return np.expm1(logs)

    def _values(self, of: Values, samples: int, row: int, begin_ms: int, end_ms: int) -> Iterator[str]:
        """Minutes of a value that is sampled so often a minute: without volumes, and `count` is that of the samples."""
        yield KLINES_HEADER
        values = of(row, np.arange(begin_ms // 60_000, end_ms // 60_000 + 1)).tolist()
        for n, (opened, closed) in enumerate(pairwise(values)):
            at = begin_ms + n * 60_000
            prices = ",".join(f"{value:.8f}" for value in (opened, max(opened, closed), min(opened, closed), closed))
            yield f"{at},{prices},0,{at + 59_999},0,{samples},0,0,0"

    def _klines(self, row: int, begin_ms: int, end_ms: int, unit: str = "000", last: str = "999") -> Iterator[str]:
        yield KLINES_HEADER
        price, lot = self.world.price_format[row], self.world.lot_format[row]
        found = candles(self.world, row, 1, begin_ms, end_ms - 1, (end_ms - begin_ms) // 60_000, end_ms)
        for at, o, h, low, c, volume, quote, trades, bought in found.rows():
            prices = ",".join(price % value for value in (o, h, low, c))
            base = lot % (volume * bought / quote if quote else 0.0)
            times = f"{at // 1000}{unit}", f"{at // 1000 + 59}{last}"
            yield f"{times[0]},{prices},{lot % volume},{times[1]},{quote:.8f},{trades},{base},{bought:.8f},0"

    def _coin_klines(self, row: int, begin_ms: int, end_ms: int) -> Iterator[str]:
        """As of USD-M, with contracts in the place of coins, and coins in the place of the quote currency."""
        yield KLINES_HEADER
        price, usd = self.world.price_format[row], self.world.universe.listings[row].contract_size
        found = candles(self.world, row, 1, begin_ms, end_ms - 1, (end_ms - begin_ms) // 60_000, end_ms)
        for at, o, h, low, c, volume, quote, trades, bought in found.rows():
            prices = ",".join(price % value for value in (o, h, low, c))
            coins = volume * bought / quote if quote else 0.0
            sizes = f"{round(quote / usd)},{at + 59_999},{volume:.8f},{trades},{round(bought / usd)},{coins:.8f}"
            yield f"{at},{prices},{sizes},0"

    def _spot_klines(self, row: int, begin_ms: int, end_ms: int) -> Iterator[str]:
        fine = begin_ms >= start_of(SPOT_MICROSECONDS_FROM)
        return self._klines(row, begin_ms, end_ms, *(("000000", "999999") if fine else ()))

    def _liquidations(self, row: int, begin_ms: int, end_ms: int) -> Iterator[str]:
        """The first liquidation of each second, twice: the order's side, its limit, the average price and the fill."""
        yield LIQUIDATIONS_HEADER
        listing, price, lot = (
            self.world.universe.listings[row],
            self.world.price_format[row],
            self.world.lot_format[row],
        )
        found = liquidations(self.world.market, np.array([row]), np.arange(begin_ms // 60_000, end_ms // 60_000))
        seconds = set[int]()
        for at, long, size, paid in zip(found.ts.tolist(), found.long.tolist(), found.size.tolist(),
                                        found.price.tolist(), strict=True):  # fmt: skip
            if at // 1000 in seconds:
                continue
            seconds.add(at // 1000)
            filled = f"{max(1, round(size * paid / listing.contract_size))}" if listing.inverse else lot % size
            limit = price % (paid * (0.995 if long else 1.005))
            side = "SELL" if long else "BUY"
            for _ in range(2):
                yield f"{at},{side},LIMIT,IOC,{filled},{limit},{price % paid},FILLED,{filled},{filled}"

    def _settlements(self, row: int, begin_ms: int, end_ms: int) -> Iterator[str]:
        yield "calc_time,funding_interval_hours,last_funding_rate"
        for at, rate, hours in reversed(settlements(self.world, row, end_ms - 1, 24 * 31)):
            if at >= begin_ms:
                yield f"{at + int(fraction('archive jitter', row, at) * 13)},{hours},{rate:.8f}"


def _etag(name: str) -> str:
    return hashlib.md5(f"{RELEASE} {name}".encode(), usedforsecurity=False).hexdigest()


def endpoints(world: World) -> list[Endpoint]:
    """The list and the files."""
    return Archive(world).endpoints()
