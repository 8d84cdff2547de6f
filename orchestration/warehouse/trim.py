"""What the warehouse forgets: the fine tables beyond what is served, and the pipeline's notes for publishing.

Nothing is lost: the landing keeps every response. Late rows for a trimmed day make its build take the whole day again
(see windows), because the coarse tables, which stay, are made from the fine ones.

What is kept is counted in days that were recorded, not in days of the clock: where that runs far ahead for some hours,
with minutes recorded or without, it adds a day or two to them and takes no others. After an outage more is kept.
"""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import duckdb

from orchestration.config import clock
from orchestration.config.settings import Settings
from orchestration.warehouse.dbt_runner.process import prepare_manifest
from orchestration.warehouse.served import DAY_MS, HOUR_MS, Trimmed, read_served
from orchestration.warehouse.writer import POLL_S, Say, connection, writer_lock

# A replica that has not been brought up to date for this long is made anew.
BUILDS_KEPT_DAYS = 3
# Kept longer than served, so that a replica made anew finds everything.
MARGIN_DAYS = 2
# After so long the lock is given up for a moment, so that a trim hardly delays a minute's build.
SLICE_S = 1.0
LOCK_WAIT_S = 600.0


_Forgotten = tuple[Trimmed, int]  # and the time before which its rows are deleted


def trim_warehouse(settings: Settings, now_ms: int | None = None, say: Say = print) -> int:
    """Delete what is too old; returns the number of rows. Takes the writer lock itself, for a second at a time."""
    now_ms = clock.now_ms() if now_ms is None else now_ms
    served = read_served(prepare_manifest(settings, say))
    finest = served.tiers[0]
    with _warehouse(settings, say) as con:
        # First: from here on late rows make a build take their whole day, whatever of it is deleted yet.
        days = _recorded_days(con, now_ms)
        con.execute(
            "insert or replace into pipeline.settings "
            "select 'trimmed_before_ms', greatest($cut, coalesce(max(value::bigint), 0))::varchar "
            "from pipeline.settings where name = 'trimmed_before_ms'",
            {"cut": _cut(days, finest.keep_days or 0)},
        )
        _trim_notes(con, now_ms)
        made = {name for (name,) in con.execute("select table_name from duckdb_tables()").fetchall()}
    # A table may be missing: a model that is newer than the last build.
    left = deque((rows, _cut(days, rows.keep_days)) for rows in served.trimmed if rows.table in made)
    removed = 0
    while left:
        time.sleep(2 * POLL_S)  # a build that waits asks for the lock so often
        with _warehouse(settings, say) as con:
            removed += _slice(con, left)
    return removed


def _slice(con: duckdb.DuckDBPyConnection, left: deque[_Forgotten]) -> int:
    """Delete hour by hour until the slice's time is over, at least one hour; takes from `left` what is done."""
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
def _warehouse(settings: Settings, say: Say) -> Iterator[duckdb.DuckDBPyConnection]:
    with (
        writer_lock(settings.home, "trim of the warehouse", wait_s=LOCK_WAIT_S, say=say),
        connection(settings.warehouse, settings.build_resources) as con,
    ):
        yield con


def _recorded_days(con: duckdb.DuckDBPyConnection, now_ms: int) -> list[int]:
    """The days with minutes that are built, the newest first, none in the future."""
    query = f"select distinct max_tick_ms // {DAY_MS} * {DAY_MS} from pipeline.loads where max_tick_ms <= {now_ms}"
    return [day for (day,) in con.execute(f"{query} order by 1 desc").fetchall()]


def _cut(days: Sequence[int], keep_days: int) -> int:
    """From when on is kept what is kept for so many days."""
    return days[keep_days + MARGIN_DAYS] if len(days) > keep_days + MARGIN_DAYS else 0


def _delete_an_hour(con: duckdb.DuckDBPyConnection, rows: _Forgotten) -> int:
    """Delete the oldest hour that there is of these rows; how many they were."""
    (table, column, _, also), before_ms = rows
    oldest = con.execute(f"select min({column}) from main.{table} where {column} < {before_ms} and {also}").fetchone()
    if oldest is None or oldest[0] is None:
        return 0
    end = min(oldest[0] + HOUR_MS, before_ms)
    deleted = con.execute(f"delete from main.{table} where {column} < {end} and {also}").fetchone()
    return deleted[0] if deleted else 0


def _trim_notes(con: duckdb.DuckDBPyConnection, now_ms: int) -> None:
    """What publishing needs to know of builds that every replica has."""
    old, newest = now_ms - BUILDS_KEPT_DAYS * DAY_MS, "(select max(build_id) from pipeline.builds)"
    con.execute("begin")
    con.execute(f"delete from pipeline.builds where finished_ms < {old} and build_id < {newest}")
    for notes in ("late_rows", "late_ranges"):
        con.execute(f"delete from pipeline.{notes} where build_id not in (select build_id from pipeline.builds)")
    con.execute("commit")
