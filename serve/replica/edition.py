"""An edition, one published state of the replica: its connection, its metadata, and the reader of endpoints."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import duckdb
import numpy as np
import pyarrow as pa

from serve.replica.catalog import Catalog, Tier, read_catalog
from serve.replica.units import Span

# With this limit and that of the response cache, a worker had 450 MB after 3,800 different series in half a minute.
DUCKDB_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "threads": 2,
    "memory_limit": "224MB",
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
}
FOLDER_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "memory_limit": "224MB",
    "autoinstall_known_extensions": False,
}
# In the folder of bulk files: all versions that may still be read.
VERSIONS = ".versions"
STATED = "table_name in ('table_states', 'methodology_resources')"
LISTED = "select 1 from duckdb_tables() where table_name = 'bulk_files'"
BULK_SQL = "select table_name, min(start_ms), max(end_ms) from bulk_files group by table_name"
INDEX_SQL = """
select market_id, index.venue, index.type, index.base, coalesce(left_out in ('premiums', 'structured'), false)
from market_index as index left join market_register using (market_id) order by index.base
"""
"""All markets, and whether the market is served on its own only: it makes no coin known."""
T = TypeVar("T")


class Market(NamedTuple):
    """The columns of the market index that requests need."""

    venue: str
    type: str
    base: str


@dataclass(eq=False)
class Edition:
    """One published state and the connection that reads it, the same for all requests of the edition.

    minutes     from when to when files have minutes of a coin
    bulk_spans  table → from when to when bulk files have its rows
    states      a state of each table; the same in two editions if its rows are
    resources   path of the API → the tables that it reads
    idle        cursors that no request has now
    former      the states in editions that this server had before, by edition
    opened_s    when this server opened it, UNIX time
    """

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
    minutes: dict[str, Span]
    bulk_spans: dict[str, Span]
    base_keys: dict[str, int]
    shared_keys: frozenset[int]
    keyed_tables: frozenset[str]
    states: dict[str, str]
    resources: dict[str, list[str]]
    idle: list[duckdb.DuckDBPyConnection] = field(default_factory=list)
    former: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    opened_s: float = field(default_factory=time.time)
    queries: dict[tuple[bytes, bool], Any] = field(default_factory=dict)
    memo: dict[Any, Any] = field(default_factory=dict)
    readers: int = 0
    retired: bool = False

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A cursor that no other request has. One that another had before saves a fortieth of a series' time."""
        try:
            return self.idle.pop()
        except IndexError:
            return self.connection.cursor()

    def close(self) -> None:
        """Close the file. No request has a cursor any more."""
        for con in (*self.idle, self.connection):
            con.close()

    def of_bases(self, bases: Iterable[str], table: str) -> str:
        """The SQL condition for rows of these coins. Filtering by the hash of the coin's name, if the table has it,
        takes DuckDB a third of the time. Clustered tables also need the name only where two coins have the same
        hash."""
        bases = list(bases)
        numbers = [self.base_keys.get(base) for base in bases] if table in self.keyed_tables else [None]
        by_number = "" if None in numbers else f"base_key in ({', '.join(map(str, numbers))})"
        if by_number and table.startswith("series_base_") and not self.shared_keys.intersection(numbers):
            return by_number
        by_name = f"base in ({', '.join(map(literal, bases))})"
        return f"{by_name} and {by_number}" if by_number else by_name

    @property
    def day_step(self) -> str:
        """The coarsest step that divides a day: coarser ones may have to be computed."""
        return self.catalog.steps[-1]

    def changed_since(self, edition_id: int | None) -> list[str] | None:
        """The paths of the API whose tables differ from those of an earlier edition; None if that is not known."""
        before = self.former.get(edition_id) if edition_id is not None else None
        if not before or not self.states:
            return None
        same = {table for table, state in self.states.items() if before.get(table) == state}
        return sorted(path for path, reads in self.resources.items() if not same.issuperset(reads))

    def base(self, asked: str) -> str | None:
        """The canonical spelling of a coin given in any case; None if it is not tracked."""
        return self.bases.get(asked) or self.bases.get(asked.upper())


class Reader:
    """Reads one edition for an endpoint or tool, with a cursor of its own."""

    def __init__(
        self,
        edition: Edition,
        cursor: duckdb.DuckDBPyConnection,
        landing: Path | None = None,
        minutes: Path | None = None,
        bulk: Path | None = None,
    ) -> None:
        self.edition = edition
        self.cursor = cursor
        self.landing = landing
        self.minutes = minutes
        self.bulk = bulk
        self.shown: object = None  # what the views that were made on the cursor show
        self.read: dict[Any, dict[str, Any]] = {}  # the columns of what was read, by what was asked
        self._altered = False
        self._beside: list[duckdb.DuckDBPyConnection] = []

    def open_folder(self, folder: Path) -> duckdb.DuckDBPyConnection:
        """A database in memory that may read the folder's files and nothing else; it ends with this reader, and its
        queries count against the same time limit."""
        con = duckdb.connect(config=FOLDER_CONFIG)
        self._beside.append(con)
        con.execute(f"set allowed_directories = [{literal(str(folder))}]; set enable_external_access = false")
        return con

    def altered(self) -> duckdb.DuckDBPyConnection:
        """The cursor, to make a view, a table or a variable on it: it then ends with this reader."""
        self._altered = True
        return self.cursor

    def interrupt(self) -> None:
        """Stop the queries that are running."""
        for con in (self.cursor, *self._beside):
            con.interrupt()

    def close(self, failed: bool = False) -> None:
        """Close what was opened beside the cursor, and leave that to another request, unless it was altered or has
        failed."""
        for con in self._beside:
            con.close()
        if self._altered or failed:
            self.cursor.close()
        else:
            self.edition.idle.append(self.cursor)

    def arrays(self, sql: str) -> dict[str, np.ndarray[Any, Any]]:
        """The result's columns; null is NaN."""
        columns = self.cursor.execute(sql).fetchnumpy()
        return {name: filled(column) for name, column in columns.items()}

    def table(self, sql: str, args: Mapping[str, Any] | None = None) -> pa.Table:
        """The result as an Arrow table."""
        return self.cursor.execute(sql, args or []).to_arrow_table()

    def value(self, sql: str, args: list[Any] | Mapping[str, Any] | None = None) -> Any:
        """The first column of the first row, or None."""
        row = self.cursor.execute(sql, args or []).fetchone()
        return row[0] if row else None

    def rows(self, sql: str, args: list[Any] | Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """All rows as dicts, for small results."""
        result = self.cursor.execute(sql, args or [])
        names = [column[0] for column in result.description or []]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def once(self, key: Any, compute: Callable[[], T]) -> T:
        """A value that is the same for the whole edition, computed at its first use."""
        if key not in self.edition.memo:
            self.edition.memo[key] = compute()
        result: T = self.edition.memo[key]
        return result


def literal(text: str) -> str:
    """A string as an SQL literal; the quote is the only special character."""
    return "'" + text.replace("'", "''") + "'"


def filled(column: Any) -> np.ndarray[Any, Any]:
    """A column of a result as an array, in which null is NaN; whole numbers with nulls become floating ones."""
    if not isinstance(column, np.ma.MaskedArray):
        return np.asarray(column)
    numbers: Any = column.astype(float) if column.dtype.kind in "iu" else column
    return np.asarray(numbers.filled(np.nan))


def open_edition(path: Path) -> Edition:
    """Open a replica read-only and read the metadata that every request needs."""
    connection = duckdb.connect(str(path), read_only=True, config=DUCKDB_CONFIG)
    try:
        row = connection.execute("select edition_id, as_of_ms, published_ms, recorded_since_ms from edition").fetchone()
        if row is None:
            raise ValueError("table edition is empty")
        definitions = connection.execute("select metric, definition::varchar from catalog order by 1").fetchall()
        tiers = connection.execute("select step, step_ms, keep_days from tiers order by step_ms").fetchall()
        index = connection.execute(INDEX_SQL).fetchall()
        keyed = connection.execute("select table_name from duckdb_tables() where contains(sql, 'base_key ')").fetchall()
        keys = connection.execute("from base_keys").fetchall()
        minutes = connection.execute("select base, min(from_ms), max(to_ms) from minute_files group by base").fetchall()
        # A replica of an earlier version does not list bulk files.
        listed = connection.execute(LISTED).fetchone()
        bulk = connection.execute(BULK_SQL).fetchall() if listed else []
        # A replica of an earlier version has neither: what an edition changed is not known then.
        [(stated,)] = connection.execute(f"select count(*) = 2 from duckdb_tables() where {STATED}").fetchall()
        states = connection.execute("from table_states").fetchall() if stated else []
        resources = connection.execute("from methodology_resources").fetchall() if stated else []
    except BaseException:
        connection.close()
        raise
    markets = {market_id: Market(*rest) for market_id, *rest, _ in index}
    names = dict.fromkeys(base for *_, base, alone in index if not alone)
    bases = {**{name.upper(): name for name in names}, **{name: name for name in names}}
    kept = tuple(Tier(*tier) for tier in tiers)
    catalog = read_catalog(definitions, kept)
    edition_id, as_of_ms, published_ms, recorded_since_ms = row
    return Edition(
        connection, path, edition_id, as_of_ms, published_ms, recorded_since_ms, catalog, kept, markets, bases,
        {base: Span(start, end) for base, start, end in minutes},
        {table: Span(start, end) for table, start, end in bulk},
        dict(keys), frozenset(key for key, coins in Counter(key for _, key in keys).items() if coins > 1),
        frozenset(name for (name,) in keyed), dict(states),
        {path: reads for path, reads in resources if path.startswith("/")},
    )  # fmt: skip
