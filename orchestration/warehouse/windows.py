"""What to build next: committed loads that are not built yet, cut into windows of minutes.

A window holds its minutes and every committed file with rows of them (older loads too), so that building a set
of minutes is a pure function of the landing. Loads of the past can be left for a window of their own, whose minutes are
then built again: the newest minute does not wait until they are built.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import duckdb

from ingest.declaration.history import HISTORY_SQL, is_history
from ingest.landing.loads import Load, committed_loads, in_landing
from ingest.landing.store import give_access
from orchestration.config.clock import DAY_MS, HOUR_MS, MINUTE_MS, now_ms
from orchestration.warehouse.writer import TABLES_SQL, PipelineError, literals, note_settings

MAX_MINUTES = 240
MAX_BYTES = 1_000_000_000
# Backfilled rows count so many times: 0.8 GB of files of ratios in one window needed more than 5.8 GB of memory.
PAST_WEIGHT = 5
# A compacted file is packed in blocks of so many minutes of the clock, of which a reader decompresses all or none.
BLOCK_MS = 10 * MINUTE_MS
# The number of loads and rows considered for one window: this bounds the planning of a rebuild over a year of loads.
MAX_LOADS = 500
MAX_ROWS = 5_000_000
# A load becomes visible when it is committed, which may be later than its id says. Every build looks this far back
# behind the newest built load, and once an hour a build lists all loads.
LOOK_BACK_S = 7200.0
LIST_ALL_MS = HOUR_MS
# Models with these triggers are built in the first window that starts this many ms after each full step: the last bars
# of an hour and the last minutes of a day have arrived by then.
HOURLY = "every_1h"
EVERY = {"every_5m": (300_000, 0), HOURLY: (HOUR_MS, 300_000)}
AFTER_HISTORY = "after_history"
# The trigger of every window but those of backfilled rows alone. Models that have it hold or show what was recorded.
RECORDED = "recorded"
# While a backfill brings data, the hourly models are also built 4, 8, 16 and so on minutes after the first minute of
# all: a new installation has its statistics before the first hour is over.
GROWING_MS = 120_000
Waiting = Literal["all", "recorded", "past"]
"""Of what waits: everything, or without loads that have nothing but backfilled rows, or nothing but these."""
# When late bars are restated, as in EVERY: those of a quiet market come once an hour, for every minute of it, and
# restating the newest hour for a few of them in each minute is a fifth of its CPU. The hourly models come after them.
LATE_EVERY = (10 * MINUTE_MS, 4 * MINUTE_MS)
# How far data may be ahead of this machine's clock.
CLOCK_AHEAD_MS = 300_000
REMEDY = (
    "It was built before. If it cannot be brought back, remove what is left of it and run `tidemark build --rebuild`, "
    "which builds everything again from the files that are there."
)


class LandingFileError(PipelineError):
    """A landed file is gone or unreadable."""


@dataclass(frozen=True)
class FileMinute:
    """The rows of one minute in one landed file; `bytes` is their uncompressed share of the file, `past_venues` are
    those of backfilled rows, and `past` says that all of them are backfilled."""

    load_id: str
    file: str
    tick_ms: int
    rows: int
    bytes: float
    received_ms: int | None
    past_venues: list[str]
    past: bool


@dataclass(frozen=True)
class Window:
    """The next thing to build: its minutes, the files that a build of them must read, and the loads that it will
    finish. `more` says that loads of those that were asked for are left after it, and `past` that backfilled ones are.

    `finished` are rows of `pipeline.loads`; `partial` are loads with later minutes left, and the minute they are built
    to. `built` are minutes and venues whose backfilled rows are built and need not be read again: the last rows of a
    minute come with the next minute's load, and a minute of a backfill may have a hundred megabytes. `past_minutes` are
    those whose backfilled rows are read. With `backfilled_only` nothing else of its minutes is: what was recorded in
    them is built, or has a window of its own. `late_waits` says that late bars of its minutes wait for a window that
    has them in `late`: the minutes of earlier windows whose late bars it restates, as it does those of its own.
    """

    minutes: tuple[int, ...]
    files: tuple[str, ...]
    finished: tuple[tuple[str, str | None, int | None, int | None, int], ...]
    partial: tuple[tuple[str, int], ...]
    as_of_ms: int
    more: bool
    started_ms: int
    past: bool = False
    built: tuple[tuple[int, str], ...] = ()
    past_minutes: tuple[int, ...] = ()
    backfilled_only: bool = False
    late_waits: bool = False
    late: tuple[int, ...] = ()


def waiting_loads(con: duckdb.DuckDBPyConnection, landing: str) -> list[Load]:
    """Committed loads that are in no finished build, oldest first.

    After a clock was ahead for a while, ids and listings are in the future, and loads that are landed afterwards have
    smaller ids.
    """
    at_ms = now_ms()
    newest = con.execute("select max(load_id) from pipeline.loads").fetchone()
    listed = con.execute("select value::bigint from pipeline.settings where name = 'listed_ms'").fetchone()
    after = None
    if newest and newest[0] and listed and 0 <= at_ms - listed[0] < LIST_ALL_MS:
        after = f"{min(float(newest[0]), at_ms / 1000) - LOOK_BACK_S:.7f}"
    built = con.execute(f"select load_id from pipeline.loads where load_id > {literals(after or '')}").fetchall()
    loads = committed_loads(landing, after)
    if after is None:
        note_settings(con, {"listed_ms": str(at_ms)})
    known = {row[0] for row in built}
    return [load for load in loads if load.load_id not in known]


def file_minutes(con: duckdb.DuckDBPyConnection, loads: Sequence[Load]) -> list[FileMinute]:
    """The minutes in the files of these loads, read from their column `tick_ms` and metadata only."""
    load_of = {file: load.load_id for load in loads for file in load.files}
    try:
        return [FileMinute(load_of[file], file, *rest) for file, *rest in minutes_of_files(con, list(load_of))]
    except duckdb.Error as error:
        raise _unreadable(con, list(load_of), error) from error


def minutes_of_files(con: duckdb.DuckDBPyConnection, files: Sequence[str]) -> list[tuple[Any, ...]]:
    """The columns of FileMinute from `file` on, for each minute of these files, the oldest minute first."""
    if not files:
        return []
    give_access(con, files)
    listed = f"[{literals(*files)}]"
    return con.execute(
        f"""
        with sizes as (
            select file_name as file, sum(total_uncompressed_size) as bytes
            from parquet_metadata({listed}) group by all),
        minutes as (
            select
                filename as file, tick_ms, count(*) as rows, max(received_ms) as received_ms,
                coalesce(list(distinct venue) filter ({HISTORY_SQL}), []) as past_venues,
                bool_and({HISTORY_SQL}) as past
            from read_parquet({listed}, filename = true) group by all)
        select file, tick_ms, rows, bytes * rows / sum(rows) over (partition by file), received_ms,
            past_venues, past
        from minutes join sizes using (file) order by tick_ms, file
        """
    ).fetchall()


def _unreadable(con: duckdb.DuckDBPyConnection, files: Sequence[str], error: duckdb.Error) -> PipelineError:
    """An error that names the file, which DuckDB's message about a list of files does not always do. For a file that
    was already built it also says what to do: every window with rows of its minutes needs it again."""
    for file in files:
        try:
            con.execute(f"select max(tick_ms) from read_parquet({literals(file)})").fetchall()
        except duckdb.Error as reason:
            name = file.rpartition("/")[2]
            built = con.execute(
                f"select 1 from pipeline.loads where ends_with(file, {literals(f'/{name}')})"
            ).fetchone()
            return LandingFileError(
                f"the committed landing file {file} is missing or cannot be read: {reason}"
                + (f"\n{REMEDY}" if built else "")
            )
    return LandingFileError(f"the landing cannot be read: {error}")


def next_window(
    con: duckdb.DuckDBPyConnection,
    landing: str,
    max_minutes: int = MAX_MINUTES,
    max_bytes: int = MAX_BYTES,
    *,
    which: Waiting = "all",
) -> Window | None:
    """The oldest waiting minutes, as many as the bounds allow (at least one), with every file that holds them."""
    started, waiting = now_ms(), waiting_loads(con, landing)
    looked_at = _head(con, waiting)
    parts = file_minutes(con, looked_at)
    of_past = {part.load_id for part in parts} - {part.load_id for part in parts if not part.past}
    if which == "past" and not of_past:
        return None
    others = {load.load_id for load in looked_at} - of_past
    left_out = {"all": set[str](), "recorded": of_past, "past": others}[which]
    if left_out:
        waiting = [load for load in waiting if load.load_id not in left_out]
        looked_at = [load for load in looked_at if load.load_id not in left_out]
        parts = [part for part in parts if part.load_id not in left_out]
    if not looked_at:
        return None
    through: dict[str, int] = dict(con.execute("from pipeline.partial_loads").fetchall())
    left = [part for part in parts if part.tick_ms > through.get(part.load_id, -1)]
    minutes = _bounded(left, max_minutes, max_bytes)
    chosen = set(minutes)
    unfinished = {part.load_id for part in left if part.tick_ms not in chosen}
    partial = {load_id: minute for load_id, minute in through.items() if load_id in left_out}
    partial |= dict.fromkeys(unfinished, minutes[-1])
    widened = chosen | _trimmed_days(con, landing, minutes)
    # A trimmed day is made again from all that was landed of it.
    backfilled_only = which == "past" and widened == chosen
    older = _older_files(con, landing, sorted(widened))
    if backfilled_only:
        held = file_minutes(con, [Load(load_id="", files=tuple(older))])
        older = [part.file for part in held if part.past_venues and part.tick_ms in chosen]
    files = {part.file for part in parts if part.tick_ms in widened} | set(older)
    arrived = {(part.tick_ms, venue) for part in left for venue in part.past_venues}
    past_minutes = {minute for minute, _ in arrived if minute in chosen} if widened == chosen else widened
    late_waits, late = (False, ()) if backfilled_only else _late_minutes(con, sorted(widened))
    return Window(
        minutes=tuple(sorted(widened)),
        files=tuple(sorted(files)),
        finished=tuple(_ranges([load for load in looked_at if load.load_id not in unfinished], parts)),
        partial=tuple(sorted(partial.items())),
        as_of_ms=max((part.received_ms or part.tick_ms for part in left if part.tick_ms in chosen), default=0),
        more=bool(unfinished) or len(looked_at) < len(waiting),
        started_ms=started,
        past=which == "recorded" and bool(left_out),
        built=tuple(sorted(_built_history(con, minutes) - arrived)) if widened == chosen else (),
        past_minutes=tuple(sorted(past_minutes)),
        backfilled_only=backfilled_only,
        late_waits=late_waits,
        late=late,
    )


def newest_built_minute(con: duckdb.DuckDBPyConnection) -> int | None:
    """The newest built minute, ignoring minutes in the future of this machine's clock."""
    found = con.execute(f"select max(max_tick_ms) from pipeline.loads where max_tick_ms <= {now_ms() + CLOCK_AHEAD_MS}")
    return found.fetchall()[0][0]  # type: ignore[no-any-return]


def built_minutes(con: duckdb.DuckDBPyConnection, landing: str, begin_ms: int, end_ms: int) -> list[int]:
    """The built minutes of a span [begin, end) in the landed files, in order."""
    files = _older_files(con, landing, range(begin_ms, end_ms, MINUTE_MS))
    held = file_minutes(con, [Load(load_id="", files=tuple(files))])
    return sorted({part.tick_ms for part in held if begin_ms <= part.tick_ms < end_ms})


def oldest_minutes(con: duckdb.DuckDBPyConnection, landing: str, begin_ms: int, end_ms: int, most: int) -> list[int]:
    """The oldest built minutes of a span [begin, end), at most so many and within a window's bounds."""
    # Files are looked into for the minutes that are likely, and for all of the span only after a gap.
    for until_ms in (begin_ms + most * MINUTE_MS, end_ms):
        span = range(begin_ms, min(until_ms, end_ms), MINUTE_MS)
        held = file_minutes(con, [Load(load_id="", files=tuple(_older_files(con, landing, span)))])
        parts = [part for part in held if span.start <= part.tick_ms < span.stop]
        if parts:
            return _bounded(parts, min(most, MAX_MINUTES), MAX_BYTES)
    return []


def window_again(con: duckdb.DuckDBPyConnection, landing: str, minutes: Sequence[int]) -> Window:
    """A window that builds minutes again and finishes no load."""
    started, widened = now_ms(), sorted(set(minutes) | _trimmed_days(con, landing, minutes))
    return Window(
        minutes=tuple(widened),
        files=tuple(sorted(_older_files(con, landing, widened))),
        finished=(),
        partial=tuple(con.execute("from pipeline.partial_loads").fetchall()),
        as_of_ms=0,
        more=False,
        started_ms=started,
        past_minutes=tuple(widened),
    )


def endpoints_of(con: duckdb.DuckDBPyConnection, window: Window) -> set[str]:
    """The endpoints that were requested in the window's minutes, of all venues, without what is `built` of them."""
    if not window.files:
        return set()
    give_access(con, window.files)
    try:
        rows = con.execute(
            f"select distinct tick_ms, venue, endpoint from read_parquet([{literals(*window.files)}]) "
            f"where tick_ms in ({literals(*window.minutes)})"
        ).fetchall()
    except duckdb.Error as error:
        raise _unreadable(con, window.files, error) from error
    built = set(window.built)
    return {endpoint for minute, venue, endpoint in rows if not (is_history(endpoint) and (minute, venue) in built)}


def triggers_of(con: duckdb.DuckDBPyConnection, window: Window, endpoints: set[str], fetched: bool = False) -> set[str]:
    """The triggers that this window fires besides its endpoints: RECORDED and a step of EVERY that begins in it, unless
    it has backfilled rows alone, and AFTER_HISTORY if it is the last one with these, or the first one after them when
    none wait. While a backfill is running, this comes after 4, 8, 16 and so on minutes, as HOURLY does.

    fetched: no backfill is running, so that no more rows come than those that have landed
    """
    before, past_ms, history = con.execute(
        f"select {_newest_sql()}, "
        f"(select value::bigint from pipeline.settings where name = 'past_ms' and value::bigint <= {now_ms()}), "
        "(select value from pipeline.settings where name = 'history')"
    ).fetchall()[0]
    now = window.minutes[-1]
    found = set[str]()
    if window.backfilled_only:
        before = past_ms or 0
    else:
        found = {RECORDED} | {
            name
            for name, (step_ms, after_ms) in EVERY.items()
            if before is None or (now - after_ms) // step_ms > (before - after_ms) // step_ms
        }
    brings = any(map(is_history, endpoints))
    doubled = before is not None and _doublings(con, now) > _doublings(con, before)
    if brings and doubled:
        found.add(HOURLY)
    ended = not (window.more or window.past) and (fetched if brings else history == "landed" and (fetched or doubled))
    return found | ({AFTER_HISTORY} if ended else set())


def _newest_sql() -> str:
    """The newest minute that was built whole. Those that a clock which was ahead left in the future do not count:
    nothing would come after them until then."""
    newest = "select list_max(built_minutes) as newest from pipeline.builds"
    return f"(select max(newest) from ({newest}) where newest <= {now_ms() + CLOCK_AHEAD_MS})"


def _late_minutes(con: duckdb.DuckDBPyConnection, minutes: Sequence[int]) -> tuple[bool, tuple[int, ...]]:
    """`Window.late_waits` and `Window.late`. After a gap the recorder's first requests bring what was missed, which
    does not wait."""
    [(newest,)] = con.execute(f"select {_newest_sql()}").fetchall()
    waiting = [minute for (minute,) in con.execute("select tick_ms from pipeline.late_minutes order by 1").fetchall()]
    step_ms, after_ms = LATE_EVERY
    begins = (minutes[-1] - after_ms) // step_ms > (min([*waiting, *minutes]) - after_ms) // step_ms
    follows = newest is not None and minutes[-1] <= newest + MINUTE_MS
    return (True, ()) if follows and not begins else (False, tuple(waiting))


def _doublings(con: duckdb.DuckDBPyConnection, minute_ms: int) -> int:
    """How often the recorded time has doubled at a minute."""
    [(first,)] = con.execute("select min(list_min(built_minutes)) from pipeline.builds").fetchall()
    return int(max(0, minute_ms - first) // GROWING_MS).bit_length() if first is not None else 0


def _head(con: duckdb.DuckDBPyConnection, waiting: Sequence[Load]) -> list[Load]:
    """The oldest waiting loads, up to the bounds of one plan."""
    loads = list(waiting[:MAX_LOADS])
    files = [file for load in loads for file in load.files]
    if len(loads) == 1 or not files:
        return loads
    give_access(con, files)
    try:
        query = f"select file_name, num_rows from parquet_file_metadata([{literals(*files)}])"
        rows: dict[str, int] = dict(con.execute(query).fetchall())
    except duckdb.Error as error:
        raise _unreadable(con, files, error) from error
    total = 0
    for count, load in enumerate(loads):
        total += sum(rows[file] for file in load.files)
        if count and total > MAX_ROWS:
            return loads[:count]
    return loads


def _bounded(parts: Sequence[FileMinute], max_minutes: int, max_bytes: int) -> list[int]:
    """The oldest minutes of these rows, up to both bounds and then to the last end of a block, and at least one."""
    sizes: dict[int, float] = {}
    for part in parts:
        sizes[part.tick_ms] = sizes.get(part.tick_ms, 0.0) + part.bytes * (PAST_WEIGHT if part.past_venues else 1)
    minutes: list[int] = []
    total = 0.0
    for minute in sorted(sizes):
        total += sizes[minute]
        if minutes and (len(minutes) >= max_minutes or total > max_bytes):
            return [held for held in minutes if held // BLOCK_MS < minute // BLOCK_MS] or minutes
        minutes.append(minute)
    return minutes


def _ranges(
    loads: Sequence[Load], parts: Sequence[FileMinute]
) -> Iterator[tuple[str, str | None, int | None, int | None, int]]:
    """Rows of `pipeline.loads`, one per file; a load without rows has one too, so that it counts as built."""
    held: dict[str, list[FileMinute]] = {}
    for part in parts:
        held.setdefault(part.file, []).append(part)
    for load in loads:
        for file in load.files:
            if of_file := held.get(file):
                minutes = [part.tick_ms for part in of_file]
                yield load.load_id, file, min(minutes), max(minutes), sum(part.rows for part in of_file)
        if not any(file in held for file in load.files):
            yield load.load_id, None, None, None, 0


def _trimmed_days(con: duckdb.DuckDBPyConnection, landing: str, minutes: Sequence[int]) -> set[int]:
    """All landed minutes of the days that late rows touch and whose fine tiers upkeep has trimmed.

    Coarse tiers are made from the fine ones, so a day whose minutes are gone must be built as a whole.
    """
    trimmed = con.execute("select value::bigint from pipeline.settings where name = 'trimmed_before_ms'").fetchone()
    days = sorted({minute - minute % DAY_MS for minute in minutes if trimmed and minute < trimmed[0]})
    if not days:
        return set()
    files = _older_files(con, landing, [minute for day in days for minute in range(day, day + DAY_MS, MINUTE_MS)])
    held = file_minutes(con, [Load(load_id="", files=tuple(files))])
    return {part.tick_ms for part in held if part.tick_ms - part.tick_ms % DAY_MS in set(days)}


def _built_history(con: duckdb.DuckDBPyConnection, minutes: Sequence[int]) -> set[tuple[int, str]]:
    """The minutes and venues of which backfilled rows are built."""
    if not con.execute(f"select 1 from {TABLES_SQL} and table_name = 'int_response_minutes'").fetchall():
        return set()
    found = con.execute(
        f"select distinct tick_ms, venue from main.int_response_minutes "
        f"where tick_ms in ({literals(*minutes)}) and {HISTORY_SQL}"
    )
    return set(found.fetchall())


def _older_files(con: duckdb.DuckDBPyConnection, landing: str, minutes: Sequence[int]) -> list[str]:
    """Files of built (also partly built) loads that may hold rows of these minutes."""
    rows = con.execute(
        f"""
        select distinct file from pipeline.loads
        where file is not null and exists (
            select 1 from unnest([{literals(*minutes)}]::bigint[]) as t(minute)
            where minute between min_tick_ms and max_tick_ms)
        """
    ).fetchall()
    return [in_landing(landing, row[0]) for row in rows]
