"""The backfill: fetches the venues' past once, in a process beside the recorder with its own share of each rate limit.

The rows are landed as the recorder's are, one load at a time. A span counts as fetched once its response is in the
journal, so that the next run continues where the last one ended, even after a kill.
"""

import asyncio
import logging
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from math import inf
from os import getpid
from pathlib import Path

import orjson

from ingest.backfill.covered import Covered
from ingest.backfill.days import Plan, as_ranges, span_of_days
from ingest.backfill.files import (
    CHECKSUM,
    File,
    Files,
    Folder,
    Unpacking,
    md5_of_etag,
    read_checksum,
    read_list,
    rows_of,
    unlisted,
    version_of,
    without_covered,
)
from ingest.backfill.loads import NOBODY_MS, Loads, Served
from ingest.backfill.progress import BackfillState, Estimate, load_bytes_before
from ingest.backfill.signing import Sign, signer
from ingest.backfill.wanted import Wanted
from ingest.declaration.archive import PUBLISHED_WITHIN_DAYS, Archive, Bucket
from ingest.declaration.endpoint import DAY_MS, HOUR_MS, MINUTE_MS, Endpoint, FanOut, Request
from ingest.declaration.history import History, Piece
from ingest.declaration.venue import Venue
from ingest.landing.journal import RETRY_S
from ingest.landing.outbox import Outbox
from ingest.landing.rows import Row, canonical
from ingest.recorder.client import Client
from ingest.recorder.clock import minute_start, now_ms
from ingest.recorder.schedule import Catalogue
from ingest.recorder.state import lock
from ingest.venues import VENUES

log = logging.getLogger(__name__)

AT_ONCE = 2
"""Requests of one rate limit that are open at once: few, because the recorder's minute has priority."""
FILES_AT_ONCE = 8
"""Files of an archive that are fetched at once: they are small and come from other hosts than the recorder's."""
FIRST_MARKETS = 50
"""So many markets of a venue have fine rows; those of their days are fetched with them, for statistics of months."""
UNPACKED = 4
"""How many bytes a packed byte of a file becomes, about."""
MOST_EMPTY = 10
"""Pieces without a row, one after the other, after which a market counts as not listed yet: some exchanges have no row
for a minute without a trade."""
LOOK_S = 0.25
"""Seconds between two looks whether the minute is served."""
GRACE_S = 1.0
"""Seconds after the end of the allowed time in which open requests may still be answered."""
Span = tuple[int, int]
Job = tuple[History, str, Span]


@dataclass(frozen=True)
class Pace:
    """When rows are landed, how many at once, and when failed requests are retried.

    land_ms     ms after the start of a minute: from then on no file is begun until the minute is served, and then this
                load is landed, which is built in the time that the minute leaves
    built_ms    ms after the start of a minute; from then on nothing waits for the minute any more, and rows are landed
                as those of the next minute, because this minute's build has begun
    load_bytes  the bytes of bodies in the first load, and so in one minute: a build takes whole minutes
    build_ms    ms that the build of a load should take; the size of the next ones follows from it (`Loads`)
    answer_s    seconds that one request may wait for the end of a ban and for its response, in addition to one window
                of its rate limit
    again_s     pauses in seconds before the retries of failed requests
    """

    minute_ms: int = MINUTE_MS
    land_ms: int = 1_000
    built_ms: int = 25_000
    load_bytes: int = 48 * 2**20
    build_ms: int = 22_000
    answer_s: float = 180.0
    again_s: tuple[float, ...] = (30.0, 300.0)


class Backfill:
    """One run: a task per rate limit, and one that lands the rows. `served` says what is published from the landing, if
    anything is: then a load waits for those before it (`Loads`), so that the minute stays fresh on any machine."""

    def __init__(
        self,
        home: Path,
        landing: str,
        venues_url: str | None,
        wanted: Wanted,
        *,
        venues: Sequence[Venue] = VENUES,
        pace: Pace | None = None,
        served: Callable[[], Served | None] = lambda: None,
    ) -> None:
        self.wanted = wanted
        self.pace = pace or Pace()
        chosen = [venue for venue in venues if not wanted.venues or venue.name in wanted.venues]
        self.plan = {venue.name: [history for history in venue.history if wanted.has(history)] for venue in chosen}
        self.archives = {venue.name: [archive for archive in venue.archives if wanted.has(archive)] for venue in chosen}
        self.venues = [venue for venue in chosen if self.plan[venue.name] or self.archives[venue.name]]
        self.covered = Covered(home / "covered.sqlite")
        self.files = Files(home / "files.sqlite")
        self.plans = {venue.name: Plan(unlisted=1 + len(self.archives[venue.name])) for venue in self.venues}
        self.state = BackfillState(getpid(), now_ms(), path=home / "state.json", written=not wanted.dry_run)
        self.at_ms = now_ms()
        self._home, self._landing, self._venues_url = home, landing, venues_url
        self._found = set[str]()
        self._local = Folder(wanted.folder) if wanted.folder else None
        self._signers = dict[str | None, Sign]()
        self._served = served
        self._loads = Loads(self.pace.load_bytes, self.pace.build_ms, load_bytes_before(self.state.path))
        self.state.load_bytes = self._loads.size
        self._unlanded = 0
        self._room = asyncio.Event()
        self._room.set()
        # Reading files takes more of a core than anything else here; the minute's build goes first.
        self._turn = asyncio.Event()
        self._turn.set()

    @cached_property
    def outbox(self) -> Outbox:
        """An estimate lands nothing, and another backfill may be at work in the journal: it has none."""
        return Outbox(self._home, self._landing, pipeline="backfill")

    async def run(self, stop: asyncio.Event) -> BackfillState:
        """Fetch what is missing, until all is there or `stop` is set."""
        self.state.write()
        landing = asyncio.create_task(self._land_every_minute())
        work = asyncio.create_task(self._venues())
        stopped = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
        finally:
            for task in (work, stopped, landing):
                task.cancel()
            await asyncio.gather(work, stopped, landing, return_exceptions=True)
            await self._land()
            self.state.end(now_ms(), stopped=stop.is_set())
            self.covered.close()
            self.files.close()
        return self.state

    async def _venues(self) -> None:
        await asyncio.gather(*(self._venue(venue) for venue in self.venues))
        # What a file of all markets has is seen by the build alone.
        unknown = set(self.wanted.symbols or ()) - self._found if "" not in self._found else set[str]()
        for symbol in sorted(unknown):
            self.state.failed.append(f"{symbol}: no exchange has a market of this symbol")

    async def _venue(self, venue: Venue) -> None:
        async with Client(venue, self._venues_url, history=True) as client:
            try:
                catalogue = Catalogue(venue)
                await self._learn(client, catalogue)
                jobs = self._jobs(venue, catalogue)
                self._estimate(venue, jobs)
                pools = [] if self.wanted.dry_run else sorted({history.pool for history, *_ in jobs})
                of_pool = {pool: [job for job in jobs if job[0].pool == pool] for pool in pools}
                archives = (self._archive(client, archive, catalogue) for archive in self.archives[venue.name])
                await asyncio.gather(*(self._work(client, of_pool[pool]) for pool in pools), *archives)
            except Exception as error:
                log.exception("%s", venue.name)
                self.state.fail(venue.name, f"{error!r}", now_ms())

    def _jobs(self, venue: Venue, catalogue: Catalogue) -> list[Job]:
        """The missing spans: first the fine rows, and the days of as many markets, of which one request has a year;
        then of every kind those of the highest ranked market."""
        jobs = list[tuple[bool, int, int, Job]]()
        for order, history in enumerate(self.plan[venue.name]):
            keys = self.wanted.markets(history, self._markets(catalogue, venue.markets_of(history)))
            self._found.update(keys)
            for rank, key in enumerate(keys):
                begin, end = self.wanted.span(history, self.at_ms)
                self.plans[venue.name].spans.append((history.name, key, (begin, end)))
                gaps = [(begin, end)] if begin < end else []
                if not self.wanted.again:
                    gaps = self.covered.gaps(venue.name, history.name, key, begin, end)
                elif not self.wanted.dry_run:
                    self.covered.forget(venue.name, history.name, key, begin, end)
                first = history.is_fine or (history.interval == "1d" and rank < FIRST_MARKETS)
                jobs += [(not first, rank, order, (history, key, gap)) for gap in gaps]
        self.plans[venue.name].unlisted -= 1
        self.state.expect(venue.name, [(history.name, end - begin) for *_, (history, _, (begin, end)) in jobs])
        return [job for *_, job in sorted(jobs, key=lambda entry: entry[:3])]

    def _estimate(self, venue: Venue, jobs: list[Job]) -> None:
        for history in self.plan[venue.name]:
            own = [(history.first(key, *span), span) for of, key, span in jobs if of is history]
            counts = [(piece, -(-(end - begin) // (history.most * history.step_ms))) for piece, (begin, end) in own]
            weight = sum(_weight(history, piece) * count for piece, count in counts)
            markets, requests = len({piece.key for piece, _ in counts}), sum(count for _, count in counts)
            seconds = _seconds(venue, history.pool, weight)
            self.state.estimate(venue.name, Estimate(history.name, history.pool, markets, requests, seconds))

    @staticmethod
    def _markets(catalogue: Catalogue, fan_out: FanOut | None) -> list[str]:
        if fan_out is None:
            return [""]
        return [*fan_out.always, *(key for key in catalogue.ranked(fan_out) if key not in fan_out.always)]

    async def _learn(self, client: Client, catalogue: Catalogue) -> None:
        """Request the lists that the markets are taken from; the recorder lands them, so these rows are not kept."""
        histories: list[History | Archive] = [*self.plan[client.venue.name], *self.archives[client.venue.name]]
        fan_outs = [fan_out for history in histories if (fan_out := client.venue.markets_of(history))]
        sources = {source for fan_out in fan_outs for source in (fan_out.of, fan_out.within) if source}
        for endpoint in client.venue.endpoints:
            if endpoint.name not in {source.endpoint for source in sources}:
                continue
            for key in (endpoint.fan_out.always if endpoint.fan_out else ()) or ("",):
                request = Request(key, self._minute(), 0)
                params = endpoint.params(request) if callable(endpoint.params) else endpoint.params
                row = await client.fetch(endpoint, request, params, self._deadline())
                if row.error or row.status != 200:
                    self.state.fail(client.venue.name, f"{f'{endpoint.name} {key}'.strip()}: {row.error}", now_ms())
                catalogue.learn(row)

    async def _work(self, client: Client, jobs: list[Job]) -> None:
        """Run the jobs of one rate limit; failed ones are retried after all others, after a pause."""
        for pause_s in (0.0, *self.pace.again_s):
            if not jobs:
                return
            await asyncio.sleep(min(pause_s, self._left_s()))
            left, queue = list[Job](), iter(jobs)

            async def take(queue: Iterator[Job] = queue, left: list[Job] = left) -> None:
                for job in queue:
                    if self._is_late():
                        return
                    if rest := await self._fetch_span(client, *job):
                        left.append(rest)

            await asyncio.gather(*(take() for _ in range(AT_ONCE)))
            jobs = left
        for history, key, span in jobs:
            self.state.give_up(client.venue.name, history.name, key, span)

    async def _fetch_span(self, client: Client, history: History, key: str, gap: Span) -> Job | None:
        """Fetch a market's span piece by piece, the newest first; if a piece fails, return the rest as a job."""
        venue, (begin, end), empty = client.venue.name, gap, 0
        piece: Piece | None = history.first(key, begin, end)
        while piece is not None:
            row = await self._request(client, history, piece)
            if row.status is None and self._is_late():
                return None
            try:
                if row.error or row.status != 200 or row.body is None:
                    raise ValueError(row.error or "no answer")
                times = list(history.at(orjson.loads(row.body)))
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                self.state.fail(venue, f"{history.name} {key}: {error}", now_ms())
                # A request that the venue rejects as wrong would be rejected again.
                again = row.status is None or row.status >= 500 or row.status in (200, 403, 408, 418, 429)
                if again:
                    return history, key, (begin, end)
                self.state.give_up(venue, history.name, key, (begin, end))
                return None
            await self._keep(row)
            covered_from, covered_to, piece = history.covers(piece, times)
            empty = 0 if times else empty + 1
            if piece is None and history.order == "span" and empty < MOST_EMPTY:
                end = covered_from
                piece = history.first(key, begin, end) if begin < end else None
            elif piece is None:
                # The venue has nothing older: the market was not listed yet.
                covered_from = begin
            elif history.order == "oldest":
                begin = covered_to
            else:
                end = covered_from
            self.covered.add(venue, history.name, key, covered_from, covered_to)
            self.state.record_progress(venue, history.name, len(times), covered_to - covered_from, row)
            if self._is_late():
                return None
        return None

    async def _keep(self, row: Row) -> None:
        """Put a row into the journal, once there is room in the load; a body larger than a load is one of its own."""
        size = len(row.body or "")
        await self._room.wait()
        # Of all that wait for the next load, each looks again: those before it have taken some of its room.
        while self._unlanded and self._unlanded + size > self._loads.size:
            self._room.clear()
            await self._room.wait()
        self.outbox.put(row)
        self._unlanded += size
        # What only memory has may be lost yet, and what counts as fetched is not asked for again.
        while self.outbox.journal.waiting:
            await asyncio.sleep(RETRY_S)
            self.outbox.journal.append([])

    async def _archive(self, client: Client, archive: Archive, catalogue: Catalogue) -> None:
        """Fetch the files that are new or were replaced: the newest first, of each period the highest ranked market
        first."""
        keys = [key for key in self._markets(catalogue, client.venue.markets_of(archive)) if archive.has(key)]
        files, pages = list[tuple[int, int, str, File]](), dict[str, list[File]]()
        plan, unread = self.plans[client.venue.name], False
        for rank, key in enumerate(self.wanted.markets(archive, keys)):
            try:
                there = await self._listed(client, archive, key, pages)
            except ValueError as error:
                self.state.fail(client.venue.name, f"{archive.name} {key}: {error}", now_ms())
                unread = True
                continue
            known = {} if self.wanted.again else self.files.etags(client.venue.name, archive.name, key)
            if not isinstance(archive.files, Bucket) and self._local is None:
                there = [replace(file, etag=known.get(file.path, "")) for file in there]
                # One without an ETag was fetched when the exchange gave none.
                known = {path: etag for path, etag in known.items() if not etag}
            files += [(-file.day.toordinal(), rank, key, file) for file in there if known.get(file.path) != file.etag]
            plan.files |= {file.path: span_of_days(file.day, file.until, archive.zone_h) for file in there}
            if there:
                self._found.add(key)
        plan.left |= {file.path for *_, file in files}
        plan.unlisted -= not unread
        requests, size = (2 if archive.checksum else 1) * len(files), sum(file.size for *_, file in files)
        # A load of so many unpacked bytes is landed a minute.
        seconds = max(_seconds(client.venue, archive.pool, requests), 60 * size * UNPACKED / self._loads.size)
        markets = len({key for *_, key, _ in files})
        known_size = size if isinstance(archive.files, Bucket) or self._local else None
        estimate = Estimate(archive.name, archive.pool, markets, requests, seconds, len(files), known_size)
        self.state.estimate(client.venue.name, estimate)
        if self.wanted.dry_run:
            return
        if archive.region and self._local is None:
            try:
                self._signers[archive.region] = await asyncio.to_thread(signer, archive.region)
            except ValueError as error:
                self.state.failed.append(f"{archive.name}: {error}, or name a folder with the files by --folder")
                return
        self.state.expect(client.venue.name, [(archive.name, _length_ms(file)) for *_, file in files])
        queue = iter(sorted(files, key=lambda entry: entry[:2]))

        async def take() -> None:
            for *_, key, file in queue:
                await self._turn.wait()
                if self._is_late():
                    return
                await self._fetch_file(client, archive, key, file)

        await asyncio.gather(*(take() for _ in range(FILES_AT_ONCE)))

    async def _listed(self, client: Client, archive: Archive, key: str, pages: dict[str, list[File]]) -> list[File]:
        """The files of a market that have wanted days; ValueError if the list cannot be read. `pages` are the folders
        that have been listed."""
        first, last = self.wanted.days_of(archive, self.at_ms)
        if first > last:
            return []
        if self._local:
            return self._local.files(archive, archive.name_of(key), first, last)
        if not isinstance(archive.files, Bucket):
            return unlisted(archive, archive.name_of(key), first, last)
        months = {day.replace(day=1) for day, _ in archive.periods(first, last)}
        name, found = archive.name_of(key), list[File]()
        for folder in sorted({folder for month in months for folder in archive.files.folders(name, month)}):
            if folder not in pages:
                pages[folder] = await self._folder(client, archive, archive.files, key, folder)
            found += [file for file in pages[folder] if file.path.rpartition("/")[2].startswith(f"{name}-")]
        files = without_covered([file for file in found if file.day <= last and file.until > first])
        self._name_absent(client.venue.name, archive, key, files, last)
        return files

    async def _folder(self, client: Client, archive: Archive, bucket: Bucket, key: str, folder: str) -> list[File]:
        files, marker = list[File](), ""
        endpoint = Endpoint(archive.name, bucket.host, bucket.path, archive.pool)
        while not self._is_late():
            params = {"delimiter": "/", "prefix": folder, "max-keys": 1000, **({"marker": marker} if marker else {})}
            row = await client.fetch(endpoint, Request(key, self._minute(), 0), params, self._deadline())
            if row.status != 200 or row.body is None or row.error:
                raise ValueError(row.error or "no answer")
            page, more = read_list(row.body, archive)
            files += page
            if more is None or more <= marker:
                break
            marker = more
        return files

    def _name_absent(self, venue: str, archive: Archive, key: str, files: list[File], last: date) -> None:
        """Periods between a market's first file and now that have none: their files are missing, or come later."""
        days = {file.day + timedelta(days=n) for file in files for n in range((file.until - file.day).days)}
        # Where no more files come, those of a market ended when they did.
        last = max(days, default=last) if archive.last else last
        for day, until in archive.periods(min(days, default=last + timedelta(days=1)), last):
            if day not in days and until <= last + timedelta(days=1):
                self._note_absent(venue, archive, key, day, until)

    def _note_absent(self, venue: str, archive: Archive, key: str, day: date, until: date) -> None:
        late = datetime.fromtimestamp(self.at_ms / 1000, UTC).date() - timedelta(days=PUBLISHED_WITHIN_DAYS)
        self.state.note_absent(venue, archive.name, key, day.isoformat(), missing=until < late)

    async def _fetch_file(self, client: Client, archive: Archive, key: str, file: File) -> None:
        """Put the text of one file into the journal: from the folder, or from the exchange."""
        venue, name = client.venue.name, file.path.rpartition("/")[2]
        try:
            if self._local:
                found = await self._read(self._local, venue, archive, key, file)
            else:
                found = await self._download(client, archive, key, file)
        except ValueError as error:
            self.state.fail(venue, f"{archive.name} {name}: {error}", now_ms())
            await self._fetch_days(client, archive, key, file)
            start = int(datetime.combine(file.day, time.min, UTC).timestamp() * 1000) - archive.zone_h * HOUR_MS
            self.state.give_up(venue, archive.name, key, (start, start + _length_ms(file)))
            return
        row, sha256, etag = found
        body, lines = row.body, 0
        if body is not None:
            params = {"day": file.day.isoformat(), "file": name, "sha256": sha256}
            await self._keep(row._replace(params=canonical(params)))
            lines = rows_of(body) if archive.lines else body.count("\n")
            if lines < archive.lines * (file.until - file.day).days:
                await self._fetch_days(client, archive, key, file)
            self.files.add(venue, archive.name, key, replace(file, etag=etag), sha256, lines, now_ms())
        elif row.status != 200:
            await self._fetch_days(client, archive, key, file)
        self.plans[venue].left.discard(file.path)
        self.state.record_progress(venue, archive.name, lines, _length_ms(file), row)

    async def _read(self, folder: Folder, venue: str, archive: Archive, key: str, file: File) -> tuple[Row, str, str]:
        """As `_download`, of a file in the folder."""
        at_ms = now_ms()
        body, sha256 = await asyncio.to_thread(folder.read, file, archive)
        row = Row(self._minute(), venue, archive.endpoint, key, "", 200, at_ms, now_ms(), 1, None, body)
        return row, sha256, file.etag

    async def _download(self, client: Client, archive: Archive, key: str, file: File) -> tuple[Row, str, str]:
        """A file's row, the SHA-256 of the packed file, and its ETag; the row has no body if there is no such file, or
        no newer one. ValueError if it cannot be fetched or is not what the archive says."""
        request = Request(key, self._minute(), 0)
        listed, etags = isinstance(archive.files, Bucket), [file.etag]
        endpoint = Endpoint(
            archive.endpoint,
            archive.host,
            f"/{file.path}",
            archive.pool,
            timeout_s=60,
            note=None if listed else lambda headers: etags.append(version_of(headers)),
            sign=self._signers.get(archive.region),
            absent=() if listed else archive.absent,
        )
        if file.etag and not listed:
            # Without a list, the response says whether the file was replaced.
            row = await client.fetch(replace(endpoint, method="HEAD"), request, {}, self._deadline())
            if row.status != 200:
                raise ValueError(row.error or "no answer")
            if etags[-1] == file.etag:
                return row._replace(body=None), "", file.etag
        algorithm, digest = archive.checksum or "md5", md5_of_etag(file.etag) if listed else None
        if archive.checksum:
            stated = replace(endpoint, path=endpoint.path + CHECKSUM)
            checksum = await client.fetch(stated, request, {}, self._deadline())
            if checksum.status != 200 or checksum.body is None or checksum.error:
                raise ValueError(f"its checksum: {checksum.error or 'no answer'}")
            digest = read_checksum(checksum.body, archive.checksum)
        unpacking = Unpacking(archive.packing, algorithm, digest)
        row = await client.fetch(replace(endpoint, decode=unpacking), request, {}, self._deadline())
        if row.status in endpoint.absent:
            if not file.of_days:
                self._note_absent(client.venue.name, archive, key, file.day, file.until)
            return row._replace(body=None), "", file.etag
        if row.status != 200 or row.body is None or row.error:
            raise ValueError(row.error or "no answer")
        return row, unpacking.sha256, etags[-1]

    async def _fetch_days(self, client: Client, archive: Archive, key: str, month: File) -> None:
        """Fetch the files of the days of a month whose own file is absent, cannot be read or lacks days."""
        known = {} if self.wanted.again else self.files.etags(client.venue.name, archive.name, key)
        days = [file for file in month.of_days if known.get(file.path) != file.etag]
        if not isinstance(archive.files, Bucket) and self._local is None:
            days = [replace(file, etag=known.get(file.path, "")) for file in days]
        self.state.expect(client.venue.name, [(archive.name, _length_ms(file)) for file in days])
        for file in days:
            await self._turn.wait()
            if not self._is_late():
                await self._fetch_file(client, archive, key, file)

    async def _request(self, client: Client, history: History, piece: Piece) -> Row:
        path = history.path(piece) if callable(history.path) else history.path
        endpoint = Endpoint(
            history.landed_as,
            history.host,
            path,
            history.pool,
            method=history.method,
            weight=_weight(history, piece),
            timeout_s=30,
            place=history.place,
        )
        # The rate limit has room within one window: giving up earlier would count the market's span as failed.
        deadline = self._deadline(client.budgets[history.pool].pool.window_s)
        return await client.fetch(endpoint, Request(piece.key, self._minute(), 0), history.params(piece), deadline)

    def _minute(self) -> int:
        return minute_start(now_ms(), self.pace.minute_ms)

    def _deadline(self, turn_s: float = 0) -> float:
        """Loop time at which a request is given up, at the latest shortly after the allowed time of the whole run."""
        return asyncio.get_running_loop().time() + min(self.pace.answer_s + turn_s, self._left_s() + GRACE_S)

    def _left_s(self) -> float:
        within_s = self.wanted.within_s
        return inf if within_s is None else max(0.0, within_s - (now_ms() - self.at_ms) / 1000)

    def _is_late(self) -> bool:
        return self._left_s() == 0

    async def _land_every_minute(self) -> None:
        while True:
            late_ms = (now_ms() - self.pace.land_ms) % self.pace.minute_ms
            await asyncio.sleep((self.pace.minute_ms - late_ms) / 1000)
            self._turn.clear()
            newest = await self._minute_served(self._minute())
            self._turn.set()
            if not self._loads.must_wait(newest, now_ms()):
                await self._land()
            self.state.load_bytes = self._loads.size

    async def _minute_served(self, minute_ms: int) -> Served | None:
        """The newest edition, once it has data of this minute; after `built_ms`, or if nobody publishes, any."""
        newest = self._served()
        while newest and newest.as_of_ms < minute_ms and now_ms() - newest.published_ms <= NOBODY_MS:
            if now_ms() >= minute_ms + self.pace.built_ms:
                break
            await asyncio.sleep(LOOK_S)
            newest = self._served()
        return newest

    async def _land(self) -> None:
        if self.wanted.dry_run:
            return
        now, minute = now_ms(), self.pace.minute_ms
        built = now % minute >= self.pace.built_ms
        waiting, days = self._unlanded, self._whole_days()
        landed = await self.outbox.land(minute_start(now, minute) + minute * built)
        self.state.landing_error = (landed.fault if landed else None) or self.outbox.journal.fault
        if not self.state.landing_error:
            self.state.days = days
        self.state.write()
        # While nothing can be landed, no more is fetched: the journal would only grow.
        if self.state.landing_error:
            self._room.clear()
            return
        # Rows that arrived meanwhile belong to the next load.
        self._unlanded -= waiting
        if waiting:
            self._loads.note_landed(now_ms(), waiting)
        self._room.set()

    def _whole_days(self) -> dict[str, list[tuple[str, str]]]:
        """Of each venue the days that are whole in the journal; none if only some kinds or markets are fetched."""
        if not self.wanted.is_whole:
            return {}
        days = {name: plan.whole_days(name, self.covered, self.at_ms) for name, plan in self.plans.items()}
        return {name: as_ranges(own) for name, own in days.items() if own}


def _weight(history: History, piece: Piece) -> int:
    return history.weight(piece) if callable(history.weight) else history.weight


def _length_ms(file: File) -> int:
    return (file.until - file.day).days * DAY_MS


def _seconds(venue: Venue, pool: str, weight: int) -> float:
    """How long the backfill's share of a rate limit takes for requests of this weight."""
    limit = next(one for one in venue.pools if one.name == pool)
    return weight / max(limit.history, 1) * limit.window_s


async def backfill(
    home: Path,
    landing: str,
    venues_url: str | None,
    wanted: Wanted,
    *,
    venues: Sequence[Venue] = VENUES,
    pace: Pace | None = None,
    report_error: Callable[[str], None] | None = None,
    report_estimate: Callable[[str], None] | None = None,
    report_share: Callable[[float], None] | None = None,
    state_copy: Path | None = None,
    served: Callable[[], Served | None] = lambda: None,
) -> BackfillState:
    """Fetch into `home` (the backfill's folder) and land into `landing`, until all is there or SIGTERM or SIGINT.

    `report_error` receives each failed request as it happens, `report_estimate` what is missing of each kind before it
    is fetched, and `report_share` how much of all is there; `state_copy` is a second file for the state; `served` as in
    `Backfill`. RecorderBusy if another backfill works in the folder, unless this one is an estimate.
    """
    with nullcontext() if wanted.dry_run else lock(home, "backfill"):
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        with suppress(RuntimeError, ValueError):  # a thread (Dagster's) can handle no signals
            for name in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(name, stop.set)
        run = Backfill(home, landing, venues_url, wanted, venues=venues, pace=pace, served=served)
        run.state.report_error, run.state.report_estimate = report_error, report_estimate
        run.state.report_share, run.state.copy = report_share, state_copy
        return await run.run(stop)
