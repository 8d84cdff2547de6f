"""The replica as readers see it: the edition that current.json names, open read-only, reopened when it changes.

Two files alternate. A new edition is opened beside the old one, new requests use it, and the old connection is closed
when its last request has ended: only then can the publisher write that file again.
"""

import asyncio
import contextlib
import errno
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from serve.replica.catalog import Catalog
from serve.replica.edition import Edition, Reader, open_edition
from serve.replica.unavailable import Busy, Unavailable
from serve.replica.workers import Workers

POLL_S = 0.1
QUERY_LIMIT_S = 5.0
# How long the current edition is served when current.json names a replica that cannot be opened. Serving it for ever
# would block the publisher, which has to write that file.
GRACE_S = 5.0
WORKERS = 4
# Queries that wait for a worker: some 0.7 s of work. Who comes later gets an answer at once, not a late one.
QUEUE = 256
# Editions whose states are remembered: an hour of them.
REMEMBERED = 60
NO_METRICS = Catalog()
# The system's errors, and DuckDB's words for them, when this process may open no more files.
NO_MORE_FILES, NO_MORE_FILES_TEXT = (errno.EMFILE, errno.ENFILE), "Too many open files"
T = TypeVar("T")
log = logging.getLogger("tidemark.serve")


@dataclass(eq=False)
class _Query:
    """One function that runs or waits for a thread: since when, what it reads with, and whether nobody wants it."""

    submitted: float
    reader: Reader | None = None
    unwanted: bool = False
    _ending: threading.Lock = field(default_factory=threading.Lock)

    def stop(self) -> None:
        """End its statement."""
        with self._ending:
            if self.reader:
                self.reader.interrupt()

    def end(self, failed: bool) -> None:
        """Give the cursor back, on which another query's statement must not be ended."""
        with self._ending:
            reader, self.reader = self.reader, None
        if reader:
            reader.close(failed)


class Store:
    """Follows current.json and runs queries on the edition that it names."""

    def __init__(
        self,
        serving: Path,
        on_change: Callable[[], None],
        query_limit_s: float = QUERY_LIMIT_S,
        catalog: Catalog = NO_METRICS,
        landing: Path | None = None,
        minutes: Path | None = None,
        bulk: Path | None = None,
    ) -> None:
        self.serving = serving
        self.landing = landing
        self.minutes = minutes
        self.bulk = bulk
        self.query_limit_s = query_limit_s
        self.on_change = on_change
        self.edition: Edition | None = None
        # The given one until the first edition, then the last edition's: what may be requested while none can be read.
        self.catalog = catalog
        self.outage = Unavailable("no replica has been published", missing=True)
        self.workers = Workers(WORKERS)
        self._signature: tuple[str, int] | None = None
        self._failing_since: float | None = None
        self._reported = ""
        self._open_paths: set[Path] = set()
        self._running: set[_Query] = set()
        self._asked = 0
        self._states: dict[int, dict[str, str]] = {}
        self._polling: asyncio.Task[None] | None = None

    @property
    def asked(self) -> int:
        """Queries that run or wait for a thread."""
        return self._asked

    async def start(self) -> None:
        """Open the current replica and follow current.json from now on."""
        await self._follow()
        self._polling = asyncio.create_task(self._poll())

    async def stop(self) -> None:
        """Wait for running queries, no longer than their limit, then close everything."""
        if self._polling:
            self._polling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._polling
        while self._running:  # the limit holds to the end: a query without one would keep the process alive
            self._interrupt_queries(longer_than_s=self.query_limit_s)
            await asyncio.sleep(POLL_S)
        await asyncio.to_thread(self.workers.end)
        self._adopt(None)

    @contextlib.contextmanager
    def current(self) -> Iterator[Edition]:
        """The current edition, which stays open until the block ends."""
        edition = self.edition
        if edition is None:
            raise self.outage.with_traceback(None)  # one instance is raised often: without this it accumulates frames
        edition.readers += 1
        try:
            yield edition
        finally:
            self._release(edition)

    def execute(self, edition: Edition, fn: Callable[[Reader], T]) -> "asyncio.Future[T]":
        """Run `fn` in a worker thread on `edition`, which stays open until it returns, within the time limit, in which
        it also waits for the thread. It begins now; cancelling the future ends it. Raises Busy if too many wait."""
        loop = asyncio.get_running_loop()
        if self._asked >= WORKERS + QUEUE:
            raise Busy(f"{QUEUE} queries wait already")
        edition.readers += 1
        self._asked += 1
        query = _Query(time.monotonic())
        answer: asyncio.Future[T] = loop.create_future()

        def answered(made: Any, error: BaseException | None) -> None:
            self._asked -= 1
            self._release(edition)
            if answer.done():  # cancelled
                return
            if error:
                answer.set_exception(self._reason(edition, error))
            else:
                answer.set_result(made)

        def run() -> None:
            # Not when the awaiting task is cancelled: the thread is still reading then. One call for both, because each
            # wakes the loop, which `asyncio.wrap_future` and a callback would do twice.
            try:
                made = self._run(edition, fn, query)
            except BaseException as error:
                loop.call_soon_threadsafe(answered, None, error)
            else:
                loop.call_soon_threadsafe(answered, made, None)

        def left(_: object) -> None:
            if answer.cancelled():
                query.unwanted = True
                query.stop()
                if self.workers.withdraw(run):
                    answered(None, None)

        answer.add_done_callback(left)
        self.workers.submit(run)
        return answer

    def _reason(self, edition: Edition, error: BaseException) -> BaseException:
        """What the failure of a query is to who asked."""
        if isinstance(error, duckdb.InterruptException):
            return Unavailable(f"a query took longer than {self.query_limit_s:g} s")
        if isinstance(error, duckdb.Error | OSError) and _no_more_files(error):
            return Busy("the server has too many files and connections open")
        if not isinstance(error, duckdb.Error):
            return error
        self._report(f"edition {edition.edition_id} cannot be read: {error}")
        if isinstance(error, duckdb.IOException | duckdb.FatalException | duckdb.InternalException):
            self._reopen(edition)
        return Unavailable("the replica cannot be read")

    def _run(self, edition: Edition, fn: Callable[[Reader], T], query: _Query) -> T:
        if time.monotonic() - query.submitted > self.query_limit_s:
            raise Busy(f"no answer was begun within {self.query_limit_s:g} s")
        reader = query.reader = Reader(edition, edition.cursor(), self.landing, self.minutes, self.bulk)
        self._running.add(query)
        failed = True
        try:
            made = fn(reader)
            failed = False
            return made
        finally:
            self._running.discard(query)
            query.end(failed)

    def _release(self, edition: Edition) -> None:
        edition.readers -= 1
        self._close_if_done(edition)

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL_S)
            self._interrupt_queries(longer_than_s=self.query_limit_s)
            try:
                await self._follow()
            except Exception:
                log.exception("following %s failed", self.serving)

    def _interrupt_queries(self, longer_than_s: float) -> None:
        now = time.monotonic()
        for query in list(self._running):
            if query.unwanted or now - query.submitted > longer_than_s:
                query.stop()

    async def _follow(self) -> None:
        """Open the edition that current.json names, unless it is open."""
        try:
            path, signature = await asyncio.to_thread(self._look)
        except FileNotFoundError as error:
            self._adopt(None, Unavailable(f"no replica: {Path(error.filename or '').name} is missing", missing=True))
            return
        except (OSError, ValueError, KeyError, TypeError) as error:
            self._fail("current.json cannot be read", error)
            return
        if signature == self._signature:
            self._failing_since = None
            return
        if self.edition and self.edition.path == path:
            self._adopt(None, Unavailable("the replica is being reopened"))
        if path in self._open_paths:
            return  # still being read: opening it again in this process would return its former content
        try:
            edition = await asyncio.to_thread(open_edition, path)
        except Exception as error:
            self._fail(f"{path.name} cannot be opened", error)
            return
        self._open_paths.add(path)
        if self.minutes is None or not self.minutes.is_dir():
            edition.minutes.clear()
        if self.bulk is None or not self.bulk.is_dir():
            edition.bulk_spans.clear()
        self._adopt(edition)
        self._signature, self._failing_since, self._reported = signature, None, ""

    def _look(self) -> tuple[Path, tuple[str, int]]:
        text = (self.serving / "current.json").read_text()
        path = self.serving / Path(json.loads(text)["replica"]).name
        return path, (text, path.stat().st_ino)

    def _fail(self, message: str, error: Exception) -> None:
        self._report(f"{message}: {error!r}")
        if _no_more_files(error):
            return  # This says nothing of the file: the edition stays until it can be looked at again.
        self._failing_since = self._failing_since or time.monotonic()
        if self.edition is None or time.monotonic() - self._failing_since > GRACE_S:
            self._adopt(None, Unavailable(message))

    def _report(self, message: str) -> None:
        if message != self._reported:
            self._reported = message
            log.warning(message)

    def _reopen(self, edition: Edition) -> None:
        if edition is self.edition:
            self._adopt(None, Unavailable("the replica cannot be read"))

    def _adopt(self, edition: Edition | None, outage: Unavailable | None = None) -> None:
        former, self.edition = self.edition, edition
        if edition:
            self.catalog = edition.catalog
            self._states[edition.edition_id] = edition.states
            while len(self._states) > REMEMBERED:
                del self._states[next(iter(self._states))]
            edition.former = dict(self._states)
            minute = time.strftime("%Y-%m-%d %H:%M:00Z", time.gmtime(edition.as_of_ms / 1000))
            log.info("edition %d of minute %s is served", edition.edition_id, minute, extra={"minute": minute})
        self._signature = None
        if outage:
            self.outage = outage
        if former is not edition:
            self.on_change()
        if former:
            former.retired = True
            self._close_if_done(former)

    def _close_if_done(self, edition: Edition) -> None:
        if edition.retired and not edition.readers:
            edition.close()
            self._open_paths.discard(edition.path)


def _no_more_files(error: Exception) -> bool:
    return getattr(error, "errno", None) in NO_MORE_FILES or NO_MORE_FILES_TEXT in str(error)
