"""Deletes from the warehouse: fine tiers older than what is served, and the pipeline's own records for publishing.

No data is lost: the landing keeps every response. Late rows for a trimmed day cause a build of the whole day (see
`windows`), because the coarse tiers, which stay, are made from the fine ones.

Ages are counted in days that were recorded, not in days of the clock: a clock that runs ahead for some hours, with
recorded minutes or without, adds a day or two and deletes no others. After an outage more is kept.
"""

import shutil
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

from orchestration.config import clock
from orchestration.config.clock import DAY_MS, HOUR_MS
from orchestration.config.settings import Settings
from orchestration.warehouse.access import open_warehouse, warehouse_lock
from orchestration.warehouse.dbt_runner.process import prepare_manifest
from orchestration.warehouse.served import Trimmed, read_served
from orchestration.warehouse.writer import POLL_S, TABLES_SQL, Report, note_settings

# A replica that was not updated for this long is made again from scratch.
BUILDS_KEPT_DAYS = 3
# Longer than it is served, so that a replica that is made from scratch finds everything.
MARGIN_DAYS = 2
# After this long the lock is released for a moment, so that a trim hardly delays a minute's build.
SLICE_S = 1.0
LOCK_WAIT_S = 600.0
UNLISTED_S = 86_400.0


_Forgotten = tuple[Trimmed, int]  # rows before this time are deleted


def trim_warehouse(settings: Settings, now_ms: int | None = None, report: Report = print) -> int:
    """Delete old rows; returns their number. Takes the writer lock itself, for a second at a time."""
    now_ms = clock.now_ms() if now_ms is None else now_ms
    served = read_served(prepare_manifest(settings, report))
    finest = served.tiers[0]
    with _warehouse(settings, report) as con:
        # First: from now on late rows cause builds of their whole day, even if only a part of it is deleted yet.
        days = _recorded_days(con, now_ms)
        [(before_ms,)] = con.execute(
            "select coalesce(max(value::bigint), 0) from pipeline.settings where name = 'trimmed_before_ms'"
        ).fetchall()
        note_settings(con, {"trimmed_before_ms": str(max(_cut(days, finest.keep_days or 0), before_ms))})
        _trim_notes(con, now_ms)
        made = {name for (name,) in con.execute(f"select table_name from {TABLES_SQL}").fetchall()}
        if "minute_files" in made:
            _remove_unknown(con, settings.minutes)
    # A table may be missing: its model may be newer than the last build.
    left = deque((rows, _cut(days, rows.keep_days)) for rows in served.trimmed if rows.table in made)
    removed = 0
    while left:
        time.sleep(2 * POLL_S)  # a waiting build tries to take the lock this often
        with _warehouse(settings, report) as con:
            removed += _slice(con, left)
    return removed


def _slice(con: duckdb.DuckDBPyConnection, left: deque[_Forgotten]) -> int:
    """Delete hour by hour, at least one hour, until the time slice is over; removes finished tables from `left`."""
    removed, until = 0, time.monotonic() + SLICE_S
    while left:
        if deleted := _delete_an_hour(con, left[0]):
            removed += deleted
            if time.monotonic() >= until:
                break
        else:
            left.popleft()
    return removed


@contextmanager
def _warehouse(settings: Settings, report: Report) -> Iterator[duckdb.DuckDBPyConnection]:
    with (
        warehouse_lock(settings, "trim of the warehouse", wait_s=LOCK_WAIT_S, report=report),
        open_warehouse(settings) as con,
    ):
        yield con


def _recorded_days(con: duckdb.DuckDBPyConnection, now_ms: int) -> list[int]:
    """The days with built minutes, the newest first, none in the future."""
    query = f"select distinct max_tick_ms // {DAY_MS} * {DAY_MS} from pipeline.loads where max_tick_ms <= {now_ms}"
    return [day for (day,) in con.execute(f"{query} order by 1 desc").fetchall()]


def _cut(days: Sequence[int], keep_days: int) -> int:
    """The start of the oldest day to keep."""
    return days[keep_days + MARGIN_DAYS] if len(days) > keep_days + MARGIN_DAYS else 0


def _delete_an_hour(con: duckdb.DuckDBPyConnection, rows: _Forgotten) -> int:
    """Delete the oldest hour of these rows; returns how many rows that were."""
    (table, column, _, also), before_ms = rows
    oldest = con.execute(f"select min({column}) from main.{table} where {column} < {before_ms} and {also}").fetchone()
    if oldest is None or oldest[0] is None:
        return 0
    end = min(oldest[0] + HOUR_MS, before_ms)
    deleted = con.execute(f"delete from main.{table} where {column} < {end} and {also}").fetchone()
    return deleted[0] if deleted else 0


def _remove_unknown(con: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Remove the minutes of files that no build lists any more: their window was built again, or its build failed. A
    day old, so that no served edition lists them either."""
    listed = {f"file={file}" for (file,) in con.execute("select distinct file from main.minute_files").fetchall()}
    for found in folder.glob("file=*"):
        if found.name not in listed and found.stat().st_mtime < time.time() - UNLISTED_S:
            shutil.rmtree(found)


def _trim_notes(con: duckdb.DuckDBPyConnection, now_ms: int) -> None:
    """Delete the records of builds that every replica has."""
    old, newest = now_ms - BUILDS_KEPT_DAYS * DAY_MS, "(select max(build_id) from pipeline.builds)"
    con.execute("begin")
    con.execute(f"delete from pipeline.builds where finished_ms < {old} and build_id < {newest}")
    for notes in ("late_rows", "late_ranges", "past_minutes"):
        con.execute(f"delete from pipeline.{notes} where build_id not in (select build_id from pipeline.builds)")
    con.execute("commit")
