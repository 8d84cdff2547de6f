"""From a row to a committed load: journalled at once, landed in a thread of its own, one load at a time."""

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pyarrow as pa

from ingest.landing.journal import Journal, tables
from ingest.landing.landing import PIPELINE, Landing
from ingest.landing.loads import LandingFault
from ingest.landing.memory import give_back
from ingest.landing.rows import SCHEMA, Row

log = logging.getLogger(__name__)

LOAD_BYTES = 64 * 2**20
"""Journals that accumulated while the landing was unreachable are landed in loads of about this many bytes."""


@dataclass
class Landed:
    """What one landing wrote: rows, bytes of bodies, and why it failed, if so."""

    rows: int = 0
    body_bytes: int = 0
    fault: str | None = None


class Outbox:
    """Takes rows on the event loop, and lands whole journal files."""

    def __init__(self, home: Path, landing: str, pipeline: str = PIPELINE) -> None:
        self.journal = Journal(home / "journal")
        self.fault: str | None = None
        self._landing = Landing(landing, home / "dlt", pipeline)
        self._in_package: list[Path] = []
        self._jobs: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        # One thread for all landings, because a dlt pipeline belongs to one. A daemon, so that an unresponsive store
        # cannot delay the end of the process: uncommitted rows are still in the journal.
        threading.Thread(target=self._work, name="landing", daemon=True).start()
        self._turn = asyncio.Lock()
        self._next = False

    def put(self, row: Row) -> None:
        """Take a row: when this returns, it is in the journal."""
        self.journal.append([row])

    async def land(self, tick_ms: int | None = None) -> Landed | None:
        """Land all journalled rows. None if another landing already waits for its turn: it will land them.

        With `tick_ms` the rows are landed as those of this minute, whenever they were requested.
        """
        if self._next:
            return None
        self._next = True
        try:
            await self._turn.acquire()
        finally:
            self._next = False
        try:
            paths = self.journal.close_file()
            loop = asyncio.get_running_loop()
            done: asyncio.Future[Landed] = loop.create_future()

            def settle(landed: Landed) -> None:
                if not done.done():
                    done.set_result(landed)

            self._jobs.put(lambda: loop.call_soon_threadsafe(settle, self._land(paths, tick_ms)))
            landed = await done
            self._report(landed)
            return landed
        finally:
            self._turn.release()

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            try:
                job()
            except RuntimeError:
                # The event loop is closed: the process is ending.
                log.debug("landing finished after the recorder", exc_info=True)
            give_back()

    def _land(self, paths: list[Path], tick_ms: int | None = None) -> Landed:
        landed = Landed()
        try:
            if self._landing.land_pending():
                log.info("A load that was left pending is committed")
                self._delete(self._in_package)
            self._in_package = []
            for group in _groups([path for path in paths if path.exists()]):
                self._in_package = group
                load = Landed()
                rows = _counted(tables(group), tick_ms, load)
                # No load without rows: a journal that was truncated within its first batch has none.
                if (first := next(rows, None)) is not None:
                    self._landing.land(chain((first,), rows))
                    landed.rows += load.rows
                    landed.body_bytes += load.body_bytes
                self._delete(group)
                self._in_package = []
        except (LandingFault, OSError, pa.ArrowException) as error:
            landed.fault = str(error)
        except Exception as error:
            log.exception("Landing failed")
            landed.fault = f"{type(error).__name__}: {error}"
        return landed

    def _delete(self, paths: list[Path]) -> None:
        for path in paths:
            path.unlink(missing_ok=True)

    def _report(self, landed: Landed) -> None:
        """Log one line when landing begins to fail and one when it works again; the state file has it meanwhile."""
        if landed.fault and landed.fault != self.fault:
            log.error("%s. Rows stay in %s and are landed when it can", landed.fault, self.journal.folder)
        elif self.fault and not landed.fault:
            log.info("The landing takes rows again: %d landed", landed.rows)
        self.fault = landed.fault


def _counted(parts: Iterator[pa.Table], tick_ms: int | None, load: Landed) -> Iterator[pa.Table]:
    """The tables, counted into `load` as they are taken; with `tick_ms` as rows of this minute."""
    for table in parts:
        if tick_ms is not None:
            minutes = pa.repeat(pa.scalar(tick_ms, pa.int64()), table.num_rows)
            table = table.set_column(0, SCHEMA.field("tick_ms"), minutes)
        load.rows += table.num_rows
        load.body_bytes += table["body"].nbytes
        yield table


def _groups(paths: list[Path]) -> list[list[Path]]:
    groups: list[list[Path]] = []
    size = LOAD_BYTES
    for path in paths:
        if size >= LOAD_BYTES:
            groups.append([])
            size = 0
        groups[-1].append(path)
        size += path.stat().st_size
    return groups
