"""The watermark: which loads are built, what each build touched, and the window that a build is working on.

A publish copies what builds touched: whole minutes (those of its window), single markets in other minutes
(`pipeline.late_rows`) and, in tiers of an hour and more, a market's backfilled range (`pipeline.late_ranges`). Rows
that say when they were landed are found by that: recorded ones in a build's minutes, backfilled ones in
`pipeline.past_minutes`.

`pipeline.loads` and `pipeline.builds` are written after the models, in one transaction: a build that is interrupted
before is simply repeated. While `pipeline.window_minutes` holds rows, a build is under way or was interrupted.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import duckdb

from orchestration.config.clock import DAY_MS, HOUR_MS, now_ms
from orchestration.warehouse import lake
from orchestration.warehouse.dbt_runner.process import PROJECT
from orchestration.warehouse.windows import CLOCK_AHEAD_MS, Window
from orchestration.warehouse.writer import literals, note_settings

# The width of a row of `touched_markets` that is no minute: of an hour or a day of history.
RANGE_MS = f"case step when '1h' then {HOUR_MS} else {DAY_MS} end"
TABLES = re.compile(r"\{% macro pipeline_tables\(\) %\}(?P<sql>[^{}]*)\{% endmacro %\}")


@dataclass(frozen=True)
class Build:
    """One finished build: a row of `pipeline.builds`."""

    build_id: int
    started_ms: int
    finished_ms: int
    as_of_ms: int
    minutes: tuple[int, ...]
    touched_minutes: tuple[int, ...]


def prepare(con: duckdb.DuckDBPyConnection) -> None:
    """Create the pipeline's own tables if they are missing, with the SQL that dbt executes before every run."""
    found = TABLES.search((PROJECT / "macros" / "pipeline_tables.sql").read_text())
    assert found is not None, "the macro pipeline_tables is plain SQL"
    con.execute(found["sql"])


def open_window(
    con: duckdb.DuckDBPyConnection, window: Window, triggers: Collection[str] = (), *, fetching: bool = False
) -> None:
    """Write the window that the models build, its triggers, and whether a backfill is running. While these tables hold
    rows, a build is under way or was interrupted."""
    con.execute("begin")
    con.execute("delete from pipeline.window_files")
    con.execute("delete from pipeline.window_minutes")
    con.execute("delete from pipeline.window_built")
    con.execute("delete from pipeline.window_kept")
    con.execute(f"insert into pipeline.window_files select unnest([{literals(*window.files)}]::varchar[])")
    con.execute(
        "insert into pipeline.window_minutes (tick_ms, backfilled_only, late_waits) "
        f"select unnest([{literals(*window.minutes)}]::bigint[]), {literals(window.backfilled_only, window.late_waits)}"
    )
    con.execute(f"update pipeline.late_minutes set due = list_contains([{literals(*window.late)}]::bigint[], tick_ms)")
    if window.built:
        con.execute(
            f"insert into pipeline.window_built values {', '.join(f'({literals(*one)})' for one in window.built)}"
        )
    notes = {"triggers": " ".join(sorted(triggers)), "fetching": str(fetching).lower(), "opened_by": "pipeline"}
    note_settings(con, {"as_of_ms": str(_as_of_ms(con, window)), **notes})
    con.execute("commit")


def close_window(con: duckdb.DuckDBPyConnection, window: Window, state: Mapping[str, str] | None = None) -> Build:
    """Move the watermark, in one transaction, after the models are built; `state` is stored with it."""
    last = con.execute("select coalesce(max(build_id), 0) from pipeline.builds").fetchone()
    assert last is not None
    # Fetched at once: the connection keeps the result of its last query alone.
    query = "select minute_ms from main.int_touched_minutes order by 1"
    touched = con.execute(query).fetchall() if window.minutes else []
    build = Build(
        build_id=last[0] + 1,
        started_ms=window.started_ms,
        finished_ms=now_ms(),
        as_of_ms=_as_of_ms(con, window),
        minutes=() if window.backfilled_only else window.minutes,
        touched_minutes=tuple(minute for (minute,) in touched),
    )
    con.execute("begin")
    if state:
        note_settings(con, state)
    con.execute("delete from pipeline.partial_loads")
    for load_id, minute in window.partial:
        con.execute(f"insert into pipeline.partial_loads values ({literals(load_id, minute)})")
    for row in window.finished:
        con.execute(f"insert into pipeline.loads values ({literals(*row, build.build_id)})")
    if window.minutes:
        _insert_build(con, build)
        con.execute(
            f"insert into pipeline.late_rows select {build.build_id}, minute_ms, market_id, base "
            "from main.touched_markets where step = '1m'"
        )
        # Backfilled rows are stored as one range per market, from its first to its last bucket.
        con.execute(
            "insert into pipeline.late_ranges "
            f"select {build.build_id}, {RANGE_MS}, market_id, base, "
            "min(minute_ms), max(minute_ms) from main.touched_markets where step <> '1m' group by all"
        )
        con.execute(
            "insert into pipeline.past_minutes "
            f"select {build.build_id}, unnest([{literals(*window.past_minutes)}]::bigint[])"
        )
        con.execute("delete from pipeline.late_minutes where due")
        if window.late_waits:
            con.execute(
                f"insert into pipeline.late_minutes select unnest([{literals(*window.minutes)}]::bigint[]), false "
                "except from pipeline.late_minutes"
            )
    con.execute("delete from pipeline.window_files")
    con.execute("delete from pipeline.window_minutes")
    con.execute("delete from pipeline.window_built")
    con.execute("delete from pipeline.window_kept")
    lake.note_closed(con, build.build_id)
    con.execute("commit")
    return build


def _as_of_ms(con: duckdb.DuckDBPyConnection, window: Window) -> int:
    """The newest data after this window. Minutes in the future, left by a clock that was ahead, are ignored: they would
    be the newest until that time is reached."""
    latest_ms = now_ms() + CLOCK_AHEAD_MS
    query = f"select coalesce(max(as_of_ms), 0) from pipeline.builds where as_of_ms <= {latest_ms}"
    [(known_ms,)] = con.execute(query).fetchall()
    return max(int(known_ms), min(window.as_of_ms, latest_ms))


def _insert_build(con: duckdb.DuckDBPyConnection, build: Build) -> None:
    row = literals(build.build_id, build.started_ms, build.finished_ms, build.as_of_ms)
    minutes, touched = literals(*build.minutes), literals(*build.touched_minutes)
    con.execute(f"insert into pipeline.builds values ({row}, [{minutes}]::bigint[], [{touched}]::bigint[])")
