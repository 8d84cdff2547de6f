"""The recorder process: each minute it requests all venues' data and lands it, and it listens to their streams."""

import asyncio
import logging
import signal
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from os import getpid
from pathlib import Path
from time import monotonic

from ingest.declaration.endpoint import MINUTE_MS
from ingest.declaration.venue import Venue
from ingest.landing.memory import stay_small
from ingest.landing.outbox import Landed, Outbox
from ingest.landing.rows import Row
from ingest.recorder.answered import EVERY_MS, read_answered, write_answered
from ingest.recorder.client import Client
from ingest.recorder.clock import as_text, minute_start, now_ms
from ingest.recorder.metrics import Metrics
from ingest.recorder.minute import Progress, record_minute
from ingest.recorder.schedule import Schedule
from ingest.recorder.shares import Shares
from ingest.recorder.state import RecorderBusy, State, VenueState, lock, name_of
from ingest.recorder.streams import StreamRecorder
from ingest.venues import VENUES

log = logging.getLogger(__name__)

POLL_S = 0.02
"""Seconds between looks at whether a minute is ready to be landed."""
LAST_LANDING_S = 10.0
"""Seconds that the end of the process waits for its last landing."""


@dataclass(frozen=True)
class Pace:
    """The times of the recorder's minute, ms after its start unless said otherwise."""

    minute_ms: int = MINUTE_MS
    land_after_ms: int = 8_000
    """Latest time of a minute's first landing, which comes as soon as only rate limits delay the missing responses."""
    give_up_after_ms: int = 50_000
    least_ms: int = 20_000
    """The least time for a minute that starts late, such as the first one, ms."""


class Recorder:
    """One task per venue and minute, and one per stream; none waits for another."""

    def __init__(
        self,
        home: Path,
        landing: str,
        venues_url: str | None,
        venues: Sequence[Venue] = VENUES,
        pace: Pace | None = None,
        metrics: Path | None = None,
    ) -> None:
        """`metrics`: the folder for the file that Prometheus reads."""
        self.pace = pace or Pace()
        self.metrics = Metrics(metrics)
        self.name = name_of(home)
        self.venues = tuple(venues)
        self.schedules = {venue.name: Schedule(venue, self.pace.minute_ms) for venue in venues}
        self.outbox = Outbox(home, landing)
        self.state = State(getpid(), now_ms(), venues={venue.name: VenueState() for venue in venues})
        self._home, self._state_file = home, home / "state.json"
        self._venues_url = venues_url
        self._clients: dict[str, Client] = {}

    async def run(self, once: bool, stop: asyncio.Event) -> None:
        """Record until `stop`; with `once`, one minute without streams."""
        read_answered(self._home, self.schedules, now_ms())
        async with AsyncExitStack() as stack:
            for venue in self.venues:
                self._clients[venue.name] = await stack.enter_async_context(Client(venue, self._venues_url))
            work = asyncio.create_task(
                self._record_minute(self._current_minute()) if once else self._record_until_cancelled()
            )
            stopped = asyncio.create_task(stop.wait())
            await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
            try:
                if work.done():
                    work.result()
            finally:
                work.cancel()
                await asyncio.gather(work, return_exceptions=True)
                await self._last_landing()
                if not self.outbox.journal.fault:
                    write_answered(self._home, self.schedules, now_ms())

    async def _record_until_cancelled(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for stream in self._streams():
                tasks.create_task(self._listen(stream))
            # Rows that an earlier run left in the journal are landed while the first minute is recorded.
            tasks.create_task(self._land())
            tick_ms = self._current_minute()
            while True:
                tasks.create_task(self._record_guarded(tick_ms))
                tick_ms = await self._next_minute(tick_ms)

    def _streams(self) -> list[StreamRecorder]:
        recorders = []
        for venue in self.venues:
            catalogue = self.schedules[venue.name].catalogue
            for stream in venue.streams:
                shares = Shares(stream.connections, stream.topics_each)
                recorders += [
                    StreamRecorder(
                        venue,
                        stream,
                        self._venues_url,
                        catalogue,
                        self.pace.minute_ms,
                        self._emit,
                        shares,
                        connection,
                        self.name,
                    )
                    for connection in range(stream.connections)
                ]
        return recorders

    async def _listen(self, stream: StreamRecorder) -> None:
        while True:
            try:
                await stream.run()
            except Exception:
                log.exception("%s %s failed; listening again", stream.venue.name, stream.stream.name)
                await asyncio.sleep(5)

    async def _next_minute(self, tick_ms: int) -> int:
        """Wait for the next minute. The system clock may be set meanwhile, so it is read every few seconds."""
        while (left_ms := tick_ms + self.pace.minute_ms - now_ms()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(min(5.0, left_ms / 1000))
        return self._current_minute()

    def _current_minute(self) -> int:
        return minute_start(now_ms(), self.pace.minute_ms)

    async def _record_guarded(self, tick_ms: int) -> None:
        try:
            await self._record_minute(tick_ms)
        except Exception:
            log.exception("minute %s", as_text(tick_ms))

    async def _record_minute(self, tick_ms: int) -> None:
        """Record one minute of all venues and land it: first what arrives in time, then the late responses."""
        began, pace = monotonic(), self.pace
        self.state.last_tick_ms = tick_ms
        self.state.write(self._state_file)
        # What was received more than a minute ago is on disk, unless the disk fails.
        if tick_ms % EVERY_MS == 0 and not self.outbox.journal.fault:
            write_answered(self._home, self.schedules, tick_ms - pace.minute_ms)
        left_ms = max(pace.least_ms, tick_ms + pace.give_up_after_ms - now_ms())
        deadline = asyncio.get_running_loop().time() + left_ms / 1000
        rows: list[Row] = []
        progress = {venue.name: Progress() for venue in self.venues}
        tasks = {
            name: asyncio.create_task(self._venue_minute(name, tick_ms, deadline, rows, one), name=name)
            for name, one in progress.items()
        }

        def prompt(name: str) -> bool:
            return tasks[name].done() or progress[name].open <= self._clients[name].held

        try:
            while not all(map(prompt, tasks)) and monotonic() - began < pace.land_after_ms / 1000:  # noqa: ASYNC110
                await asyncio.sleep(POLL_S)
            late = {task for task in tasks.values() if not task.done()}
            await self._land_and_log(tick_ms, rows, late, began)
            if late:
                rows.clear()
                await asyncio.wait(late)
                await self._land_and_log(tick_ms, rows, set(), began)
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)

    async def _venue_minute(
        self, venue: str, tick_ms: int, deadline: float, rows: list[Row], progress: Progress
    ) -> None:
        counts = [0, 0]

        def emit(row: Row) -> None:
            counts[row.error is not None] += 1
            # Without its body: the journal has it, and the minute of a slow venue would keep it in memory for long.
            rows.append(row._replace(body=None))
            self._emit(row)

        try:
            await record_minute(self._clients[venue], self.schedules[venue], tick_ms, deadline, emit, progress)
        except Exception:
            log.exception("%s: minute %s", venue, as_text(tick_ms))
        state = self.state.venues[venue]
        state.ok, state.failed = counts

    def _emit(self, row: Row) -> None:
        self.state.note(row)
        self.metrics.note(row)
        self.outbox.put(row)

    async def _land(self) -> Landed | None:
        try:
            landed = await self.outbox.land()
        except Exception:
            log.exception("Landing failed; it is tried again next minute")
            return None
        if landed is not None:
            self.metrics.landed(landed)
            self.state.landing_error = landed.fault
            if landed.rows:
                self.state.last_landed_ms = now_ms()
        self.state.journal_error = self.outbox.journal.fault
        self.state.write(self._state_file)
        return landed

    async def _land_and_log(self, tick_ms: int, rows: list[Row], late: set[asyncio.Task[None]], began: float) -> None:
        failed = sum(1 for row in rows if row.error)
        landed = await self._land() or Landed()
        log.info(
            "minute %s: %d rows of %d venues, %d failed%s; landed %d rows, %.1f MB, after %.1f s",
            as_text(tick_ms),
            len(rows),
            len({row.venue for row in rows}),
            failed,
            f", waiting for {', '.join(sorted(task.get_name() for task in late))}" if late else "",
            landed.rows,
            landed.body_bytes / 1e6,
            monotonic() - began,
            extra={"minute": as_text(tick_ms)},
        )
        self.metrics.write(self._clients, tick_ms)

    async def _last_landing(self) -> None:
        try:
            async with asyncio.timeout(LAST_LANDING_S):
                await self._land()
        except TimeoutError:
            log.error("The last landing took longer than %g s: its rows are in the journal", LAST_LANDING_S)


async def record(
    home: Path,
    landing: str,
    venues_url: str | None,
    once: bool = False,
    *,
    venues: Sequence[Venue] = VENUES,
    pace: Pace | None = None,
    metrics: Path | None = None,
) -> str | None:
    """Record into `home` (the recorder's folder) and land into `landing` until SIGTERM or SIGINT; `metrics` is the
    folder for the file that Prometheus reads.

    The result is why the last landing failed, or None; rows that were not landed are in the journal.
    """
    with lock(home):
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, stop.set)
        recorder = Recorder(home, landing, venues_url, venues, pace, metrics)
        await recorder.run(once, stop)
        return recorder.state.landing_error


def run_recorder(
    home: Path, landing: str, venues_url: str | None, once: bool = False, metrics: Path | None = None
) -> int:
    """Run the recorder as a process, and return its exit code. Progress is logged."""
    stay_small()
    try:
        fault = asyncio.run(record(home, landing, venues_url, once, metrics=metrics))
    except RecorderBusy as busy:
        log.error("%s", busy)
        return 1
    except OSError as error:
        log.error("The recorder's folder %s cannot be used: %s", home, error.strerror or error)
        return 1
    # With `once` the minute must be in the landing; a recorder that is stopped lands the rest at its next start.
    return 1 if once and fault else 0
