"""Binance's archive: the list of its files, and the daily metrics of USD-M perps as zipped CSV with checksums.

Its known defects are here too: days without a file, files that have every row twice.
"""

import hashlib
import io
import zipfile
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from xml.sax.saxutils import escape

import numpy as np

from sandbox.derived.positioning import long_of_late, takers
from sandbox.market.derivatives import open_interest
from sandbox.market.noise import fraction
from sandbox.market.world import World
from sandbox.venues.binance.statistics import RATIOS, STARTS_FROM_MS
from sandbox.wire.endpoint import Answer, Endpoint, Request

HOST, BUCKET_HOST, BUCKET = "data.binance.vision", "s3-ap-northeast-1.amazonaws.com", "data.binance.vision"
FOLDER = "data/futures/um/daily/metrics"
HEADER = (
    "create_time,symbol,sum_open_interest,sum_open_interest_value,count_toptrader_long_short_ratio,"
    "sum_toptrader_long_short_ratio,count_long_short_ratio,sum_taker_long_short_vol_ratio"
)
FIRST = date(2020, 9, 1)
STEP, DAY_MS, PAGE = 5, 86_400_000, 1000
MISSING, DOUBLED, WRONG_CHECKSUM = 0.01, 0.02, 0.0
"""Shares of the days that have no file, whose rows are there twice, and whose checksum is another one's."""
RELEASE = 1
"""Of the files: those of another release have other ETags."""


class Archive:
    """The files over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        perps = [(row, world.universe.listings[row]) for row in world.universe.rows("binance", "perp").tolist()]
        self.by_symbol = {one.symbol: row for row, one in perps if not one.inverse}
        self.file = lru_cache(256)(self._file)

    def list_files(self, request: Request) -> Answer:
        """GET of the bucket with prefix, delimiter and marker, at most 1000 names a page, half of them checksums."""
        prefix, marker = request.query.get("prefix", ""), request.query.get("marker", "")
        symbol = prefix.removeprefix(f"{FOLDER}/").rstrip("/")
        names: list[str] = []
        for day in self._days(symbol, request.now_ms) if prefix == f"{FOLDER}/{symbol}/" else ():
            name = f"{prefix}{symbol}-metrics-{day}.zip"
            names += [one for one in (name, f"{name}.CHECKSUM") if one > marker]
            if len(names) > PAGE:
                break
        page, more = names[:PAGE], len(names) > PAGE
        rows = "".join(
            f"<Contents><Key>{escape(name)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
            f"<ETag>&quot;{hashlib.md5(f'{RELEASE} {name}'.encode(), usedforsecurity=False).hexdigest()}&quot;</ETag>"
            f"<Size>{11_000 if name.endswith('.zip') else 100}</Size><StorageClass>STANDARD</StorageClass></Contents>"
            for name in page
        )
        following = f"<NextMarker>{escape(page[-1])}</NextMarker>" if more else ""
        text = (
            '<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<Name>{BUCKET}</Name><Prefix>{escape(prefix)}</Prefix><Marker>{escape(marker)}</Marker>{following}"
            f"<MaxKeys>{PAGE}</MaxKeys><Delimiter>/</Delimiter><IsTruncated>{str(more).lower()}</IsTruncated>"
            f"{rows}</ListBucketResult>"
        )
        return Answer(text.encode(), content_type="application/xml")

    def send_file(self, request: Request) -> Answer:
        """GET of a file or its checksum."""
        symbol, name = request.query["symbol"], request.query["file"]
        zipped, _, rest = name.partition(".CHECKSUM")
        day = zipped.removeprefix(f"{symbol}-metrics-").removesuffix(".zip")
        try:
            known = not rest and date.fromisoformat(day) in set(self._days(symbol, request.now_ms))
        except ValueError:
            known = False
        if not known:
            return Answer(b"<Error><Code>NoSuchKey</Code></Error>", 404, content_type="application/xml")
        content = self.file(symbol, day)
        if name != zipped:
            wrong = fraction("archive checksum", symbol, day) < WRONG_CHECKSUM
            digest = hashlib.sha256(b"" if wrong else content).hexdigest()
            return Answer(f"{digest}  {zipped}\n".encode(), content_type="text/plain")
        return Answer(content, content_type="application/zip")

    def _days(self, symbol: str, now_ms: int) -> Iterator[date]:
        """The days with a file: those of the market that have ended, the last of them an hour ago."""
        row = self.by_symbol.get(symbol)
        if row is None:
            return
        listing = self.world.universe.listings[row]
        last_ms = min(now_ms - 3_600_000, listing.delisted_ms) - DAY_MS
        day, last = max(FIRST, _day(listing.listed_ms)), _day(max(last_ms, 0))
        while day <= last:
            if fraction("archive missing", symbol, day.isoformat()) >= MISSING:
                yield day
            day += timedelta(days=1)

    def _file(self, symbol: str, day: str) -> bytes:
        rows = list(self._rows(symbol, day))
        if fraction("archive doubled", symbol, day) < DOUBLED:
            rows = [row for row in rows for _ in range(2)]
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
            # A fixed time: the same file has the same checksum whenever it is made.
            member = zipfile.ZipInfo(f"{symbol}-metrics-{day}.csv", (2026, 1, 1, 0, 0, 0))
            member.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(member, "\n".join([HEADER, *rows, ""]))
        return packed.getvalue()

    def _rows(self, symbol: str, day: str) -> Iterator[str]:
        row, market = self.by_symbol[symbol], self.world.market
        start = int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) // 60
        rows, starts = np.array([row]), np.arange(start, start + 1440, STEP)
        ends = starts + STEP
        size = open_interest(market, rows, ends)[0]
        mark = np.exp(market.index_logs(rows, ends)[0] + market.premium(rows, ends)[0])
        longs = {kind: np.rint(long_of_late(self.world, row, kind, starts) * 1e4) / 1e4 for kind in RATIOS.values()}
        taken = takers(self.world, rows, start, len(starts), STEP)
        labels = starts if start * 60_000 >= STARTS_FROM_MS else ends
        for n, minute in enumerate(labels.tolist()):
            ratios = [longs[kind][n] / (1 - longs[kind][n]) for kind in ("top_accounts", "top_positions", "accounts")]
            ratios.append(taken.buy[0][n] / max(taken.sell[0][n], 1e-12))
            at = datetime.fromtimestamp(minute * 60, UTC).strftime("%Y-%m-%d %H:%M:%S")
            shares = ",".join(f"{ratio:.8f}" for ratio in ratios)
            yield f"{at},{symbol},{size[n]:.16f},{size[n] * mark[n]:.16f},{shares}"


def _etag(name: str) -> str:
    return hashlib.md5(f"{RELEASE} {name}".encode(), usedforsecurity=False).hexdigest()


def _day(at_ms: int) -> date:
    return datetime.fromtimestamp(at_ms / 1000, UTC).date()


def endpoints(world: World) -> list[Endpoint]:
    """The list and the files."""
    archive = Archive(world)
    return [
        Endpoint("binance", BUCKET_HOST, f"/{BUCKET}", archive.list_files, "binance_archive"),
        Endpoint("binance", HOST, f"/{FOLDER}/<symbol:str>/<file:str>", archive.send_file, "binance_archive"),
    ]
