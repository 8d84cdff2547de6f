"""A warehouse that an earlier version built, under the models of this one.

The warehouse keeps the manifest of the project that built it. When the project has changed, dbt compares both. A
column that a model has and its table has not is added at once: null, which is to say unknown, until its rows are built
again. A column that the model no longer has is dropped. What the changed models and their descendants have stored is
built again, from the landing or from stored facts, day by day, the newest first, in windows between the minutes: until
a day's turn comes it is served as the earlier version built it. What a later version built is refused, before anything
is changed.

What a model decides once stays as it was decided: spikes, scores of frozen maps, the coin of a market.
"""

import base64
import json
import time
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

from orchestration.config.clock import DAY_MS, MINUTE_MS, as_utc, now_ms
from orchestration.config.settings import Settings
from orchestration.warehouse.access import open_warehouse, warehouse_lock
from orchestration.warehouse.dbt_runner.process import (
    PARSED,
    DbtError,
    fingerprint,
    idle_models,
    list_models,
    prepare_manifest,
    run_dbt,
)
from orchestration.warehouse.quarantine import MACHINE, attempts
from orchestration.warehouse.staged import note_kept
from orchestration.warehouse.watermark import close_window, open_window, prepare
from orchestration.warehouse.windows import (
    EVERY,
    RECORDED,
    LandingFileError,
    endpoints_of,
    oldest_minutes,
    window_again,
)
from orchestration.warehouse.writer import POLL_S, PipelineError, Report, literals

WINDOWED = "windowed"
# What changes the rows of a model: its SQL, its configuration, a macro that it calls, its contract, a seed's content.
# Descriptions do not.
CHANGED = (
    "state:new", "state:modified.body", "state:modified.configs", "state:modified.macros", "state:modified.contract",
)  # fmt: skip
BUILD = ("build", "--resource-type", "model")
# What a build notes of its window when it is closed.
NOTED = ("int_touched_minutes", "touched_markets")
# What holds the window's responses, and the facts from which its minutes and endpoints are known without them.
WINDOW = "raw_window"
TYPED = """
(select tick_ms, endpoint from main.int_response_minutes union all
 select tick_ms, endpoint from main.int_stream_minutes)
"""
TYPED_MINUTES = f"select distinct tick_ms from {TYPED} where tick_ms >= {{}} and tick_ms < {{}} order by 1 limit {{}}"
TYPED_ENDPOINTS = f"select distinct endpoint from {TYPED} where tick_ms in ({{}})"
DAY = "%Y-%m-%d"
LOCK_WAIT_S = 600.0
# A window is as long as the rest of a minute allows. It begins after the minute's own build has had its chance, and
# not where less than this is left.
AFTER_MINUTE_S, LEAST_S, WITHOUT_PACE_S = 8.0, 10.0, 20.0
# What a window costs per minute in it, until one has been measured.
FIRST_GUESS_S = 4.0


@dataclass(frozen=True)
class Rebuilt:
    """A window that was built again: its day, its minutes, and how long it took; `left` days are not finished."""

    day_ms: int
    minutes: int
    seconds: float
    left: int


def this_version() -> str:
    """The version of the installed package."""
    return version("tidemark")


def check_version(built: Mapping[str, str]) -> None:
    """Raise PipelineError if a later version wrote the warehouse, by the settings that it holds."""
    theirs, ours = built.get("version", ""), this_version()
    if theirs and _parts(theirs) > _parts(ours):
        raise PipelineError(
            f"the warehouse was built by version {theirs}, and this is {ours}: install {theirs} or later, or make the "
            "warehouse again from the landing with `tidemark build --rebuild`"
        )


def _parts(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def adapt(con: duckdb.DuckDBPyConnection, settings: Settings, project: str, report: Report = print) -> None:
    """Adapt the warehouse to the project with this fingerprint, whose manifest is prepared, and plan what is built
    again; nothing, if it is the one that built the warehouse. The caller holds the writer lock."""
    if con.execute(f"select 1 from pipeline.built_by where project = {literals(project)}").fetchone():
        return
    built = dict(con.execute("select name, value from pipeline.settings").fetchall())
    check_version(built)
    stored = con.execute("select manifest from pipeline.built_by").fetchone()
    earlier = zlib.decompress(stored[0]) if stored else None
    current = (settings.dbt_target / PARSED[0]).read_bytes()
    con.execute("begin")
    if con.execute("select 1 from pipeline.loads limit 1").fetchone():
        nodes = _windowed(current)
        _adapt_tables(con, nodes, _windowed(earlier).keys() - nodes.keys() if earlier else (), report)
        _plan(con, sorted(_changed(settings, earlier, nodes, report)), built.get("version", ""), report)
    con.execute("delete from pipeline.built_by")
    manifest = base64.b64encode(zlib.compress(current)).decode()
    con.execute(
        f"insert into pipeline.built_by values ({literals(project, this_version())}, from_base64({literals(manifest)}))"
    )
    con.execute("commit")


def _models(manifest: bytes) -> dict[str, dict[str, Any]]:
    """Name → node, of each model."""
    nodes = json.loads(manifest)["nodes"].values()
    return {node["name"]: node for node in nodes if node["resource_type"] == "model"}


def _windowed(manifest: bytes) -> dict[str, dict[str, Any]]:
    """Table → node, of each model whose table the builds go on with."""
    return {name: node for name, node in _models(manifest).items() if node["config"]["materialized"] == WINDOWED}


def _changed(
    settings: Settings, earlier: bytes | None, nodes: Mapping[str, Mapping[str, Any]], report: Report
) -> set[str]:
    """The models whose stored rows the change of the project concerns: all of them, if the manifest that built the
    warehouse is not known or dbt cannot read it."""
    kept = _kept(nodes)
    if earlier is None:
        return kept
    with TemporaryDirectory() as folder:
        (Path(folder) / PARSED[0]).write_bytes(earlier)
        try:
            return kept & set(list_models(settings, [f"{selector}+" for selector in CHANGED], state=Path(folder)))
        except DbtError as error:
            report(f"what has changed is not known, so all models are built again: {error}")
            return kept


def _adapt_tables(
    con: duckdb.DuckDBPyConnection, nodes: Mapping[str, Mapping[str, Any]], gone: Collection[str], report: Report
) -> None:
    """Give the tables of the models the columns and types that the models have now."""
    for table in sorted(gone):
        con.execute(f'drop table if exists main."{table}"')
        report(f"{table} is no model any more: its table is dropped")
    for table, node in nodes.items():
        found: dict[str, str] = dict(con.execute(_COLUMNS.format(table)).fetchall())
        if not found:
            continue  # The build makes it.
        columns = {name: column["data_type"] for name, column in node["columns"].items()}
        new, old = sorted(columns.keys() - found.keys()), sorted(found.keys() - columns.keys())
        other = [name for name in sorted(columns.keys() & found.keys()) if _type(con, columns[name]) != found[name]]
        for name in new:
            con.execute(f'alter table main."{table}" add column "{name}" {columns[name]}')
        for name in old:
            con.execute(f'alter table main."{table}" drop column "{name}"')
        for name in other:
            to = f'{columns[name]} using try_cast("{name}" as {columns[name]})'
            con.execute(f'alter table main."{table}" alter column "{name}" set data type {to}')
        if new:
            report(f"{table} has the new columns {', '.join(new)}: unknown until its rows are built again")
        if old or other:
            report(
                f"{table} has other columns: {', '.join(old) or 'none'} dropped, {', '.join(other) or 'none'} converted"
            )


def _type(con: duckdb.DuckDBPyConnection, declared: str) -> str:
    """DuckDB's own name of a type."""
    [(name,)] = con.execute(f"select typeof(null::{declared})").fetchall()
    return str(name)


_COLUMNS = """
select column_name, data_type from duckdb_columns()
where schema_name = 'main' and table_name = '{}' and database_name = current_database()
"""


def plan_days(settings: Settings, begin_ms: int, end_ms: int, report: Report = print) -> int:
    """Plan that all models of the built days of a span [begin, end) are built again, UTC epoch ms; returns how many
    days there are. PipelineError if none of the span is built."""
    nodes = _windowed(prepare_manifest(settings, report).read_bytes())
    with (
        warehouse_lock(settings, "plan", wait_s=LOCK_WAIT_S, report=report),
        open_warehouse(settings, checkpoint=False) as con,
    ):
        prepare(con)
        adapt(con, settings, fingerprint(), report)
        _note_days(con, sorted(_kept(nodes)), this_version(), f"day_ms >= {begin_ms} and day_ms < {end_ms}")
        [(days,)] = con.execute(
            f"select count(*) from pipeline.upgrade_days where day_ms >= {begin_ms} and day_ms < {end_ms}"
        ).fetchall()
        if not days:
            first, last = con.execute("select min(min_tick_ms), max(max_tick_ms) from pipeline.loads").fetchall()[0]
            built = "nothing is" if first is None else f"{as_utc(first, DAY)} to {as_utc(last, DAY)} are"
            raise PipelineError(
                f"no day from {as_utc(begin_ms, DAY)} to {as_utc(end_ms - DAY_MS, DAY)} is built: {built}"
            )
    return int(days)


def _kept(nodes: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """The models whose rows stay when a window is built."""
    return {name for name, node in nodes.items() if node["config"]["incremental_strategy"] != "replace_all"}


def _plan(con: duckdb.DuckDBPyConnection, models: Sequence[str], from_version: str, report: Report) -> None:
    """Note every built day for rebuilding, with what an earlier change has left to do of it."""
    if not models:
        return
    _note_days(con, models, from_version, "true")
    [(days,)] = con.execute("select count(*) from pipeline.upgrade_days").fetchall()
    report(
        f"{len(models)} models have changed: {days} days are to be built again, the newest first, by Dagster between "
        "the minutes or by `tidemark upgrade`"
    )


def _note_days(con: duckdb.DuckDBPyConnection, models: Sequence[str], from_version: str, which: str) -> None:
    """Note the built days for which the condition holds, with these models and what was left to do of them."""
    con.execute(
        f"""
        create or replace temp table left_over as
        select day_ms, unnest(models) as model, from_version from pipeline.upgrade_days where finished_ms is null;
        delete from pipeline.upgrade_days where {which};
        insert into pipeline.upgrade_days
        with days as (
            select
                unnest(range(min_tick_ms - min_tick_ms % {DAY_MS}, max_tick_ms + 1, {DAY_MS})) as day_ms,
                min_tick_ms, max_tick_ms
            from pipeline.loads where min_tick_ms is not null and max_tick_ms <= {now_ms()}),
        models as (
            select day_ms, model from (select distinct day_ms from days), unnest([{literals(*models)}]) as m(model)
            union select day_ms, model from left_over)
        select
            day_ms, greatest(day_ms, min(min_tick_ms)), greatest(day_ms, min(min_tick_ms)),
            least(day_ms + {DAY_MS}, max(max_tick_ms) + {MINUTE_MS}),
            (select list(model order by model) from models where models.day_ms = days.day_ms),
            coalesce((select min(from_version) from left_over), {literals(from_version)}), {now_ms()}, null, null
        from days where {which} group by day_ms;
        drop table left_over
        """
    )


def days_left(con: duckdb.DuckDBPyConnection) -> int:
    """How many days are still to be built again, without those that failed."""
    prepare(con)
    query = "select count(*) from pipeline.upgrade_days where finished_ms is null and error is null"
    [(days,)] = con.execute(query).fetchall()
    return int(days)


def rebuild(
    settings: Settings, *, stop_after_s: float | None = None, paced: bool = False, report: Report = print
) -> Iterator[Rebuilt]:
    """Build again what is planned, window by window, until nothing is left or `stop_after_s` is over; yields each
    window. The writer lock is free between two windows. `paced`: beside a recorder, whose minutes come first."""
    until = None if stop_after_s is None else time.monotonic() + stop_after_s
    per_minute_s = FIRST_GUESS_S
    while until is None or time.monotonic() < until:
        if paced:
            _await_turn()
        with warehouse_lock(settings, "upgrade", wait_s=LOCK_WAIT_S, report=report) as lock:
            room_s = _left_of_minute() if paced else WITHOUT_PACE_S
            done = _rebuild_window(settings, max(1, int(room_s / per_minute_s)), lock, report)
        if done is None:
            return
        per_minute_s = max(0.01, done.seconds / max(1, done.minutes))
        yield done
        time.sleep(2 * POLL_S)  # a waiting build tries to take the lock this often


def _await_turn() -> None:
    """Wait until the minute's own build has had its chance, and there is time for a window before the next."""
    if _left_of_minute() < LEAST_S:
        time.sleep(_left_of_minute())
    if (second := now_ms() / 1000 % 60) < AFTER_MINUTE_S:
        time.sleep(AFTER_MINUTE_S - second)


def _left_of_minute() -> float:
    return 60 - now_ms() / 1000 % 60


def _rebuild_window(settings: Settings, most: int, lock: int, report: Report) -> Rebuilt | None:
    """Build the next minutes again, at most so many; None if nothing is left. What fails of a day is noted with it."""
    started = time.monotonic()
    nodes = _models(prepare_manifest(settings, report).read_bytes())
    with open_warehouse(settings, checkpoint=False) as con:
        prepare(con)
        adapt(con, settings, fingerprint(), report)
        found = con.execute(
            "select day_ms, next_ms, end_ms, models from pipeline.upgrade_days "
            "where finished_ms is null and error is null order by day_ms desc limit 1"
        ).fetchone()
    if found is None:
        return None
    day_ms, next_ms, end_ms, models = found
    state, count = "", 0
    try:
        count, next_ms = _build_again(settings, nodes, models, (day_ms, next_ms, end_ms), most, lock, report)
        state = f"next_ms = {next_ms}" + (f", finished_ms = {now_ms()}" if next_ms >= end_ms else "")
    except (DbtError, LandingFileError) as error:
        # A full disk or a bucket that does not answer is no fault of the day: the next run tries it again.
        if MACHINE.search(str(error)) if isinstance(error, DbtError) else "://" in settings.landing:
            raise
        report(f"{as_utc(day_ms, DAY)} is not built again: {error}")
        state = f"error = {literals(str(error))}"
    with open_warehouse(settings, checkpoint=False) as con:
        con.execute(f"update pipeline.upgrade_days set {state} where day_ms = {day_ms}")
        return Rebuilt(day_ms, count, time.monotonic() - started, days_left(con))


def _build_again(
    settings: Settings,
    nodes: Mapping[str, Mapping[str, Any]],
    models: Sequence[str],
    span: tuple[int, int, int],
    most: int,
    lock: int,
    report: Report,
) -> tuple[int, int]:
    """Build a window of a day (its start, the next minute, the end of what is planned of it). Returns the number of its
    minutes, and the next minute."""
    day_ms, next_ms, end_ms = span
    state = {"project": fingerprint(), "seeds": fingerprint("seeds"), "version": this_version()}
    with open_warehouse(settings, checkpoint=False) as con:
        built = dict(con.execute("select name, value from pipeline.settings").fetchall())
        # The project's first build makes its views, seeds and new tables too. Beside a recorder, a minute's was that.
        first = any(built.get(name) != state[name] for name in ("project", "seeds"))
        # Coarse tiers are made from finer ones, which are not kept so long: these are made again for that.
        trimmed = day_ms < int(built.get("trimmed_before_ms", 0))
        wanted = [name for name in models if name in nodes]
        read = _tables_above(wanted, nodes, stored=trimmed)
        from_landing = first or WINDOW in read

        def recorded(begin_ms: int, until_ms: int) -> list[int]:
            if from_landing:
                return oldest_minutes(con, settings.landing, begin_ms, until_ms, most)
            return [minute for (minute,) in con.execute(TYPED_MINUTES.format(begin_ms, until_ms, most)).fetchall()]

        if not (minutes := recorded(next_ms, end_ms)):
            return 0, end_ms
        # The minute before too: the bars of its end came with the first of these.
        before = recorded(max(next_ms - MINUTE_MS, day_ms), next_ms)
        window = window_again(con, settings.landing, [*before, *minutes])
        if from_landing:
            triggers = endpoints_of(con, window)
        else:
            window = replace(window, files=())
            rows = con.execute(TYPED_ENDPOINTS.format(literals(*window.minutes))).fetchall()
            triggers = {endpoint for (endpoint,) in rows}
        next_ms = min(window.minutes[-1] + MINUTE_MS, end_ms)
        # Statistics of hours and days are made once a day.
        triggers |= {RECORDED, *EVERY} if next_ms == end_ms else {RECORDED}
        open_window(con, window, triggers)
        if not first:
            note_kept(con, settings, window)
        _forget_answers(con, wanted, nodes)
    idle = idle_models(settings, triggers)
    selected = sorted({*wanted, *read, *NOTED, *_tables_above(NOTED, nodes)})
    excluded = ["--exclude", *idle] if idle else []
    try:
        run_dbt(
            settings,
            [*BUILD, *(["--resource-type", "seed"] if first else ["--select", *selected, *excluded])],
            lock=lock,
        )
    except DbtError as error:
        if not from_landing:
            raise  # No response is the cause.
        report(f"a model failed, so the whole window is built, and the response is found that is the cause: {error}")
        for attempt in attempts(settings, idle, lock, report):
            with attempt:
                run_dbt(settings, [*BUILD, "--exclude", "config.materialized:view_in_place", *idle], lock=lock)
    with open_warehouse(settings, checkpoint=False) as con:
        close_window(con, window, state)
    return len(window.minutes), next_ms


def _tables_above(models: Collection[str], nodes: Mapping[str, Mapping[str, Any]], *, stored: bool = False) -> set[str]:
    """The tables that these models read, directly and through views, and that hold the rows of one window; or all that
    they are made from, `stored` facts included."""
    named = {node["unique_id"]: name for name, node in nodes.items()}
    found, seen, left = set[str](), set(models), list(models)
    while left:
        for name in {named[parent] for parent in nodes[left.pop()]["depends_on"]["nodes"] if parent in named} - seen:
            seen.add(name)
            config = nodes[name]["config"]
            is_table = config["materialized"] == WINDOWED
            if is_table and not stored and not _is_of_window(config):
                continue
            left.append(name)
            if is_table:
                found.add(name)
    return found


def _is_of_window(config: Mapping[str, Any]) -> bool:
    return config["incremental_strategy"] == "replace_all" and "served" not in config["meta"]


def _forget_answers(
    con: duckdb.DuckDBPyConnection, models: Collection[str], nodes: Mapping[str, Mapping[str, Any]]
) -> None:
    """Delete what the window's responses left in facts that are replaced by their key: a row that the models do not
    make any more would stay."""
    for name in models:
        node = nodes[name]
        by_key = node["config"]["incremental_strategy"] == "replace_keys" and node["config"].get("replace_on")
        if by_key and "tick_ms" in node["columns"] and "served" not in node["config"]["meta"]:
            con.execute(f'delete from main."{name}" where tick_ms in (select tick_ms from pipeline.window_minutes)')
