"""The rows of a table's period, from the newest edition to one Parquet file.

They are read some coins at a time, and the edition that is newest is taken again every few seconds: memory is bounded,
and no publish waits for a reader. A digest of all rows says whether the editions had the same; if not, nothing is
written.
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from orchestration.config.clock import DAY_MS, MINUTE_MS
from orchestration.publish.bulk_folder import Period
from orchestration.publish.edition import attached
from orchestration.warehouse.served import Table
from orchestration.warehouse.writer import literals

NAME = "edition"
# A replica is written again a minute after the next edition.
HELD_S = 10.0
# A row group is as long as one of DuckDB, and a part has two.
BATCH_ROWS, GROUP_ROWS = 245_760, 122_880
GAPS = """
with minutes as (
    select unnest(range(greatest(start_ms, {start}), least(end_ms, {end}), 60000)) as t, venue is null as is_down
    from edition.main.gaps where end_ms > {start} and start_ms < {end}
),
by_minute as (select t, bool_or(is_down) as is_down from minutes group by t)
select count(*) filter (is_down), count(*) filter (not is_down), (select recorded_since_ms from edition.main.edition)
from by_minute
"""


class RowsChangedError(Exception):
    """A newer edition has other rows."""


@dataclass(frozen=True)
class PeriodRows:
    """What an edition has of a period: number and digest of the rows, ranges of coins that are read at a time, distinct
    times, and the minutes that were not recorded, or in part."""

    table: Table
    period: Period
    edition: int
    rows: int
    digest: str
    coins: tuple[tuple[str, str], ...]
    buckets: int
    minutes_missing: int
    minutes_partial: int


class EditionReader:
    """A connection that has the newest edition attached as `edition`, for some seconds at a time."""

    def __init__(self, serving: Path, resources: Mapping[str, str | int]) -> None:
        self.serving = serving
        self.con = duckdb.connect(config={**resources, "autoinstall_known_extensions": False})
        self._attached = ExitStack()
        self._since_s = -HELD_S
        self.current: Mapping[str, Any] = {}

    def __enter__(self) -> "EditionReader":
        self.follow()
        return self

    def __exit__(self, *_: object) -> None:
        self._attached.close()
        self.con.close()

    def follow(self) -> int:
        """Attach the edition that is newest now if the last one was some seconds ago; returns the number of the one
        that is attached."""
        if time.monotonic() - self._since_s >= HELD_S:
            self._attached.close()
            self.current = self._attached.enter_context(attached(self.con, self.serving, NAME))
            self._since_s = time.monotonic()
        return int(self.current["edition_id"])

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        return self.con.execute(sql).fetchall()

    def days_of(self, table: Table, start: int, end: int) -> list[int]:
        """The days of which a table has rows."""
        sql = f"select distinct t - t % {DAY_MS} from {NAME}.main.{table.name} where t >= {start} and t < {end}"
        return [day for (day,) in self.rows(sql)]

    def columns_of(self, table: Table) -> dict[str, str]:
        """Name and type of a table's columns, without the replica's own."""
        found = self.rows(f"select name, type from pragma_table_info('{NAME}.main.{table.name}')")
        return {name: kind for name, kind in found if name != "base_key"}

    def relation(self, table: Table, period: Period) -> str:
        """The rows of a period as SQL names them."""
        columns = ", ".join(f'"{name}"' for name in self.columns_of(table))
        where = f"t >= {period.start} and t < {period.end}"
        return f"(select {columns} from {NAME}.main.{table.name} where {where}) as rows"


def read_rows(reader: EditionReader, table: Table, period: Period) -> PeriodRows:
    """What the newest edition has of a period."""
    edition = reader.follow()
    rows = reader.relation(table, period)
    coins = reader.rows(f"select base, count(*), sum(hash(rows)) from {rows} group by base order by base")
    [(buckets,)] = reader.rows(f"select count(distinct t) from {rows}")
    [(down, partial, since_ms)] = reader.rows(GAPS.format(start=period.start, end=period.end))
    # Before the recording began there are no gaps; what there is of then is the exchanges' own history.
    before = min(period.end, period.end if since_ms is None else since_ms) - period.start
    return PeriodRows(
        table, period, edition,
        rows=sum(count for _, count, _ in coins),
        digest=str(sum(digest for *_, digest in coins)),
        coins=tuple(_batches((coin, count) for coin, count, _ in coins)),
        buckets=buckets,
        minutes_missing=down + max(0, -(-before // MINUTE_MS)),
        minutes_partial=partial,
    )  # fmt: skip


def write_parquet(reader: EditionReader, read: PeriodRows, path: Path, about: Mapping[str, Any]) -> None:
    """Write the rows as they are clustered; RowsChangedError if they are no longer those that were read. `about` is in
    the file's metadata, as JSON under `tidemark`."""
    # Imported here: a publish needs nothing of it.
    from pyarrow import parquet

    edition, writer = read.edition, None
    order = [column for column in read.table.order.split(", ") if column != "base_key"]
    try:
        for first, last in read.coins:
            edition = reader.follow()
            rows = reader.con.execute(
                f"from {reader.relation(read.table, read.period)} "
                f"where base between {literals(first)} and {literals(last)} order by {', '.join(order)}"
            ).to_arrow_table()
            if writer is None:
                schema = rows.schema.with_metadata({"tidemark": json.dumps(about)})
                in_order = parquet.SortingColumn.from_ordering(schema, [(column, "ascending") for column in order])
                writer = parquet.ParquetWriter(path, schema, compression="zstd", sorting_columns=in_order)
            writer.write_table(rows.cast(schema), row_group_size=GROUP_ROWS)
    finally:
        if writer is not None:
            writer.close()
    if edition != read.edition and read_rows(reader, read.table, read.period).digest != read.digest:
        raise RowsChangedError


def _batches(coins: Iterable[tuple[str, int]]) -> Iterator[tuple[str, str]]:
    """Ranges of coins with some BATCH_ROWS rows each."""
    first, last, size = "", "", 0
    for coin, rows in coins:
        if not size:
            first = coin
        last, size = coin, size + rows
        if size >= BATCH_ROWS:
            yield first, last
            size = 0
    if size:
        yield first, last
