"""The backfill: fetches the venues' past once, in a process beside the recorder with its own share of each rate limit.

The rows are landed as the recorder's are, one load at a time. A span counts as fetched once its response is in the
journal, so that the next run continues where the last one ended, even after a kill.
"""

import asyncio
import logging
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from os import getpid
from pathlib import Path

import orjson

from ingest.backfill.covered import Covered
from ingest.backfill.progress import BackfillState
from ingest.backfill.wanted import Wanted
from ingest.declaration.endpoint import MINUTE_MS, Endpoint, FanOut, Request
from ingest.declaration.history import History, Piece
from ingest.declaration.venue import Venue
from ingest.landing.outbox import Outbox
from ingest.landing.rows import Row
from ingest.recorder.client import Client
from ingest.recorder.clock import minute_start, now_ms
from ingest.recorder.schedule import Catalogue
from ingest.recorder.state import lock
from ingest.venues import VENUES

log = logging.getLogger(__name__)

AT_ONCE = 2
"""Requests of one rate limit that are open at once: few, because the recorder's minute has priority."""
GRACE_S = 1.0
"""Seconds after the end of the allowed time in which open requests may still be answered."""
Span = tuple[int, int]
Job = tuple[History, str, Span]


@dataclass(frozen=True)
class Pace:
    """When rows are landed, how many at once, and when failed requests are retried.

    land_ms     ms after the start of a minute; the recorder lands later, so that one build takes both loads
    built_ms    ms after the start of a minute; from then on rows are landed as those of the next minute, because this
                minute's build has begun
    load_bytes  the most bytes of bodies in one load, and so in one minute: a build takes whole minutes
    answer_s    seconds that one request may wait for the end of a ban and for its response, in addition to one window
                of its rate limit
    again_s     pauses in seconds before the retries of failed requests
    """

    minute_ms: int = MINUTE_MS
    land_ms: int = 1_000
    built_ms: int = 25_000
    load_bytes: int = 48 * 2**20
    answer_s: float = 180.0
    again_s: tuple[float, ...] = (30.0, 300.0)


class Backfill:
    """One run: a task per rate limit, and one that lands the rows."""

    def __init__(
        self,
        home: Path,
        landing: str,
        venues_url: str | None,
        wanted: Wanted,
        *,
        venues: Sequence[Venue] = VENUES,
        pace: Pace | None = None,
    ) -> None:
        self.wanted = wanted
        self.pace = pace or Pace()
        chosen = [venue for venue in venues if not wanted.venues or venue.name in wanted.venues]
        self.plan = {venue.name: [history for history in venue.history if wanted.has(history)] for venue in chosen}
        self.venues = [venue for venue in chosen if self.plan[venue.name]]
        self.covered = Covered(home / "covered.sqlite")
        self.outbox = Outbox(home, landing, pipeline="backfill")
        self.state = BackfillState(getpid(), now_ms(), path=home / "state.json")
        self.at_ms = now_ms()
        self._venues_url = venues_url
        self._unlanded = 0
        self._room = asyncio.Event()
        self._room.set()

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
        return self.state

    async def _venues(self) -> None:
        await asyncio.gather(*(self._venue(venue) for venue in self.venues))

    async def _venue(self, venue: Venue) -> None:
        async with Client(venue, self._venues_url, history=True) as client:
            try:
                jobs = await self._jobs(client)
                pools = sorted({history.pool for history, *_ in jobs})
                of_pool = {pool: [job for job in jobs if job[0].pool == pool] for pool in pools}
                await asyncio.gather(*(self._work(client, of_pool[pool]) for pool in pools))
            except Exception as error:
                log.exception("%s", venue.name)
                self.state.fail(venue.name, f"{error!r}", now_ms())

    async def _jobs(self, client: Client) -> list[Job]:
        """The missing spans per market: of every kind those of the highest ranked market first."""
        catalogue, venue, jobs = Catalogue(client.venue), client.venue, list[tuple[int, int, Job]]()
        await self._learn(client, catalogue)
        for order, history in enumerate(self.plan[venue.name]):
            keys = self._markets(catalogue, venue.markets_of(history))
            top = history.sample if self.wanted.sample else history.top
            for rank, key in enumerate(keys[:top]):
                begin, end = self.wanted.span(history, self.at_ms)
                if self.wanted.again:
                    self.covered.forget(venue.name, history.name, key, begin, end)
                gaps = self.covered.gaps(venue.name, history.name, key, begin, end)
                jobs += [(rank, order, (history, key, gap)) for gap in gaps]
        self.state.expect(venue.name, [(history.name, end - begin) for _, _, (history, _, (begin, end)) in jobs])
        return [job for *_, job in sorted(jobs, key=lambda entry: entry[:2])]

    @staticmethod
    def _markets(catalogue: Catalogue, fan_out: FanOut | None) -> list[str]:
        if fan_out is None:
            return [""]
        return [*fan_out.always, *(key for key in catalogue.ranked(fan_out) if key not in fan_out.always)]

    async def _learn(self, client: Client, catalogue: Catalogue) -> None:
        """Request the lists that the markets are taken from; the recorder lands them, so these rows are not kept."""
        histories = self.plan[client.venue.name]
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
        venue, (begin, end) = client.venue.name, gap
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
            await self._room.wait()
            self.outbox.put(row)
            self._unlanded += len(row.body or "")
            if self._unlanded >= self.pace.load_bytes:
                self._room.clear()
            covered_from, covered_to, piece = history.covers(piece, times)
            if piece is None and history.order == "span" and times:
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

    async def _request(self, client: Client, history: History, piece: Piece) -> Row:
        weight = history.weight(piece) if callable(history.weight) else history.weight
        path = history.path(piece) if callable(history.path) else history.path
        endpoint = Endpoint(
            history.landed_as,
            history.host,
            path,
            history.pool,
            method=history.method,
            weight=weight,
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
            await self._land()

    async def _land(self) -> None:
        now, minute = now_ms(), self.pace.minute_ms
        built = now % minute >= self.pace.built_ms
        waiting = self._unlanded
        landed = await self.outbox.land(minute_start(now, minute) + minute * built)
        self.state.landing_error = (landed.fault if landed else None) or self.outbox.journal.fault
        self.state.write()
        # While nothing can be landed, no more is fetched: the journal would only grow.
        if self.state.landing_error:
            self._room.clear()
            return
        # Rows that arrived meanwhile belong to the next load.
        self._unlanded -= waiting
        if self._unlanded < self.pace.load_bytes:
            self._room.set()


async def backfill(
    home: Path,
    landing: str,
    venues_url: str | None,
    wanted: Wanted,
    *,
    venues: Sequence[Venue] = VENUES,
    pace: Pace | None = None,
    report_error: Callable[[str], None] | None = None,
    state_copy: Path | None = None,
) -> BackfillState:
    """Fetch into `home` (the backfill's folder) and land into `landing`, until all is there or SIGTERM or SIGINT.

    `report_error` receives each failed request as it happens; `state_copy` is a second file for the state. RecorderBusy
    if another backfill works in the folder.
    """
    with lock(home, "backfill"):
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        with suppress(RuntimeError, ValueError):  # a thread (Dagster's) can handle no signals
            for name in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(name, stop.set)
        run = Backfill(home, landing, venues_url, wanted, venues=venues, pace=pace)
        run.state.report_error, run.state.copy = report_error, state_copy
        return await run.run(stop)
