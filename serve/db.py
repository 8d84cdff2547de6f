"""The replica as readers see it: the edition that current.json names, open read-only, followed as it changes.

Two files alternate. A new edition is opened beside the old one, new requests go to it, and the old connection is
closed when its last request has ended: only then can the publisher write that file again.
"""

import asyncio
import contextlib
import json
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import duckdb
import numpy as np

from serve.catalog import Catalog, Tier, read_catalog
from serve.errors import Unavailable

POLL_S = 0.25
QUERY_LIMIT_S = 5.0
# How long an edition outlives a pointer to a replica that cannot be opened. Holding it for ever would keep the
# publisher from the one file that it may write.
GRACE_S = 10.0
WORKERS = 4
DUCKDB_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "threads": 2,
    "memory_limit": "256MB",
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
}
T = TypeVar("T")
log = logging.getLogger("tidemark.serve")


class Market(NamedTuple):
    """One row of the market index, as far as requests need it."""

    venue: str
    type: str
    base: str


@dataclass(eq=False)
class Edition:
    """One published state and the connection that reads it. Everything here is the same for all its requests."""

    connection: duckdb.DuckDBPyConnection
    path: Path
    edition_id: int
    as_of_ms: int
    published_ms: int
    recorded_since_ms: int | None
    catalog: Catalog
    tiers: tuple[Tier, ...]
    markets: dict[str, Market]
    bases: dict[str, str]
    queries: dict[bytes, Any] = field(default_factory=dict)
    memo: dict[Any, Any] = field(default_factory=dict)
    readers: int = 0
    retired: bool = False

    def base(self, asked: str) -> str | None:
        """The canonical spelling of a coin, however it is capitalised; None if it is not tracked."""
        return self.bases.get(asked) or self.bases.get(asked.upper())


class Reader:
    """What an endpoint reads with: one cursor, bound to one edition."""

    def __init__(self, edition: Edition, cursor: duckdb.DuckDBPyConnection) -> None:
        self.edition = edition
        self.cursor = cursor

    def arrays(self, sql: str, args: list[Any]) -> dict[str, np.ndarray[Any, Any]]:
        """The result's columns; an unknown value is NaN."""
        columns = self.cursor.execute(sql, args).fetchnumpy()
        return {name: _filled(column) for name, column in columns.items()}

    def value(self, sql: str, args: list[Any] | None = None) -> Any:
        """The first column of the first row, or None."""
        row = self.cursor.execute(sql, args or []).fetchone()
        return row[0] if row else None

    def rows(self, sql: str, args: list[Any] | dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """All rows by column name, for results of a few rows."""
        result = self.cursor.execute(sql, args or [])
        names = [column[0] for column in result.description or []]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def once(self, key: Any, compute: Callable[[], T]) -> T:
        """A result that is the same for the whole edition, computed at its first use."""
        if key not in self.edition.memo:
            self.edition.memo[key] = compute()
        return self.edition.memo[key]  # type: ignore[no-any-return]


def _filled(column: Any) -> np.ndarray[Any, Any]:
    return column.filled(np.nan) if isinstance(column, np.ma.MaskedArray) else np.asarray(column)


def open_edition(path: Path) -> Edition:
    """Open a replica read-only and read what every request needs to know of it."""
    connection = duckdb.connect(str(path), read_only=True, config=DUCKDB_CONFIG)
    try:
        row = connection.execute("select edition_id, as_of_ms, published_ms, recorded_since_ms from edition").fetchone()
        if row is None:
            raise ValueError("table edition is empty")
        definitions = connection.execute("select metric, definition::varchar from catalog order by 1").fetchall()
        tiers = connection.execute("select step, step_ms, keep_days from tiers order by step_ms").fetchall()
        index = connection.execute("select market_id, venue, type, base from market_index order by base").fetchall()
    except BaseException:
        connection.close()
        raise
    markets = {market_id: Market(*rest) for market_id, *rest in index}
    names = dict.fromkeys(market.base for market in markets.values())
    bases = {**{name.upper(): name for name in names}, **{name: name for name in names}}
    catalog, kept = read_catalog(definitions), tuple(Tier(*tier) for tier in tiers)
    edition_id, as_of_ms, published_ms, recorded_since_ms = row
    return Edition(
        connection, path, edition_id, as_of_ms, published_ms, recorded_since_ms, catalog, kept, markets, bases
    )


class Store:
    """Follows current.json and runs queries on the edition it names."""

    def __init__(self, serving: Path, on_change: Callable[[], None]) -> None:
        self.serving = serving
        self.on_change = on_change
        self.edition: Edition | None = None
        self.outage = Unavailable("no replica has been published", missing=True)
        self.pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="query")
        self._signature: tuple[str, int] | None = None
        self._failing_since: float | None = None
        self._reported = ""
        self._open_paths: set[Path] = set()
        self._running: dict[int, tuple[float, duckdb.DuckDBPyConnection]] = {}
        self._polling: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Open what is there and follow it from now on."""
        await self._follow()
        self._polling = asyncio.create_task(self._poll())

    async def stop(self) -> None:
        """Let running queries end, close everything."""
        if self._polling:
            self._polling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._polling
        await asyncio.to_thread(self.pool.shutdown)
        self._adopt(None)

    async def execute(self, edition: Edition, fn: Callable[[Reader], T]) -> T:
        """Run `fn` in a worker thread on `edition`, which stays open until it has ended, within the time limit."""
        loop = asyncio.get_running_loop()
        edition.readers += 1
        future = self.pool.submit(self._run, edition, fn)
        # Not a `finally` here: when the waiting task is cancelled, the thread still reads.
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._release, edition))
        return await self._answer(edition, future)

    async def _answer(self, edition: Edition, future: "Future[T]") -> T:
        try:
            return await asyncio.wrap_future(future)
        except duckdb.InterruptException:
            raise Unavailable(f"a query took longer than {QUERY_LIMIT_S:g} s") from None
        except duckdb.Error as error:
            self._report(f"edition {edition.edition_id} cannot be read: {error}")
            if isinstance(error, duckdb.IOException | duckdb.FatalException | duckdb.InternalException):
                self._reopen(edition)
            raise Unavailable("the replica cannot be read") from error

    def _run(self, edition: Edition, fn: Callable[[Reader], T]) -> T:
        cursor = edition.connection.cursor()
        me = threading.get_ident()
        self._running[me] = (time.monotonic(), cursor)
        try:
            return fn(Reader(edition, cursor))
        finally:
            del self._running[me]
            cursor.close()

    def _release(self, edition: Edition) -> None:
        edition.readers -= 1
        self._close_if_done(edition)

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL_S)
            now = time.monotonic()
            for started, cursor in list(self._running.values()):
                if now - started > QUERY_LIMIT_S:
                    # A query that ends at this very moment has closed its cursor.
                    with contextlib.suppress(duckdb.Error):
                        cursor.interrupt()
            try:
                await self._follow()
            except Exception:
                log.exception("following %s failed", self.serving)

    async def _follow(self) -> None:
        """Bring `edition` in line with what current.json names."""
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
            return  # it is still being read: a second open in this process would show its former content
        try:
            edition = await asyncio.to_thread(open_edition, path)
        except Exception as error:
            self._fail(f"{path.name} cannot be opened", error)
            return
        self._open_paths.add(path)
        self._adopt(edition)
        self._signature, self._failing_since, self._reported = signature, None, ""

    def _look(self) -> tuple[Path, tuple[str, int]]:
        text = (self.serving / "current.json").read_text()
        path = self.serving / Path(json.loads(text)["replica"]).name
        return path, (text, path.stat().st_ino)

    def _fail(self, message: str, error: Exception) -> None:
        self._report(f"{message}: {error!r}")
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
            edition.connection.close()
            self._open_paths.discard(edition.path)
