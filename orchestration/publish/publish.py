"""Publish: update the replica that nobody reads to the warehouse's newest build, then point readers to it.

All changes to a replica are one transaction, and `current.json` changes after it: a killed publish leaves the served
replica unchanged, and the next publish repairs the other one. Readers never see a half-written file: DuckDB's lock
refuses to write a file that has a reader.
"""

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from orchestration.config.clock import now_ms
from orchestration.config.logs import about_minute
from orchestration.config.places import is_lake
from orchestration.config.settings import Settings
from orchestration.publish import bulk_folder, clustering, methodology, replica
from orchestration.publish.edition import REPLICAS, Edition, newest_replica, point_to, read_current
from orchestration.publish.metrics import write_metrics
from orchestration.publish.replica import Begun
from orchestration.publish.timeline import Timeline
from orchestration.warehouse.access import attach, detach, exists, newest_closed, open_by_name, open_replica
from orchestration.warehouse.dbt_runner.process import prepare_manifest
from orchestration.warehouse.lake import Closed
from orchestration.warehouse.served import Served, from_manifest, read_served
from orchestration.warehouse.windows import CLOCK_AHEAD_MS
from orchestration.warehouse.writer import (
    BLOCK_BYTES,
    TABLES_SQL,
    WAIT_S,
    PipelineError,
    Report,
    UnreadableError,
    connection,
    literals,
    writer_lock,
)

READER_WAIT_S = 20.0
# The newest table of what builds touched: a warehouse that an older version built last may lack it.
NOTES = "pipeline.past_minutes"
# DuckDB's errors for a damaged file, as opposed to a full disk or a lock.
CORRUPT = (
    "Corrupt",
    "checksum",
    "not a valid DuckDB",
    "Serialization Error",
    "database has been invalidated",
    "WAL file",
    "Could not read enough bytes",
)
# With two, the rows of a minute of 15,000 markets are copied in half the time.
TABLES_AT_ONCE = 2
# Not among them is dict_fsst, the only compression of texts in our files' form.
THOROUGH = "fsst,zstd,alprd,chimp,patas,roaring"


@dataclass(frozen=True)
class _Source:
    """What to publish, and how.

    build_id … recorded_since_ms  the warehouse's newest build
    columns   columns and row order of the replica's tables
    closed    the snapshot of a lake
    bulk      the folder of bulk files
    serve     readers are pointed to it
    in_order  finished periods are put in the readers' order
    """

    warehouse: str
    resources: Mapping[str, Any] | None
    manifest: Path
    served: Served
    catalog: dict[str, dict[str, Any]]
    build_id: int
    past_started_ms: int | None
    past_took_ms: int | None
    finished_ms: int
    as_of_ms: int
    recorded_since_ms: int | None
    columns: str
    closed: Closed | None
    bulk: Path | None
    serve: bool
    in_order: bool


def publish(
    settings: Settings,
    *,
    force: bool = False,
    in_order: bool = True,
    wait_s: float = WAIT_S,
    reader_wait_s: float = READER_WAIT_S,
    run_started_ms: float | None = None,
    take_timeline: Callable[[Timeline], None] = lambda _: None,
    report: Report = print,
) -> Edition | None:
    """Publish the newest build as a new edition; None if the served edition already has it (unless forced).
    `take_timeline` gets its timeline, in which `run_started_ms` is when the run began that publishes it. With
    `in_order` off, finished periods are left as they were written: `prepare_next` puts them in the readers' order.
    """
    with writer_lock(settings.home, "publish", wait_s=wait_s, report=report):
        return update_replica(
            settings, prepare_manifest(settings, report), force=force, in_order=in_order, reader_wait_s=reader_wait_s,
            run_started_ms=run_started_ms, take_timeline=take_timeline, report=report,
        )  # fmt: skip


def update_replica(
    settings: Settings,
    manifest: Path,
    *,
    force: bool = False,
    in_order: bool = True,
    reader_wait_s: float = READER_WAIT_S,
    repair: bool = True,
    begun: Begun | None = None,
    run_started_ms: float | None = None,
    take_timeline: Callable[[Timeline], None] = lambda _: None,
    report: Report = print,
) -> Edition | None:
    """`publish` for a caller who holds the writer lock; with `repair` off, a replica that lacks more than the newest
    builds is an error, unless nothing was ever published. `begun` is the replica that nobody reads, if it is open
    already."""
    began, cpu = time.monotonic(), time.process_time()
    edition = publish_locked(
        settings.warehouse, settings.serving, manifest, settings.build_resources, force,
        in_order=in_order, bulk=settings.bulk, reader_wait_s=reader_wait_s, repair=repair, begun=begun, report=report,
    )  # fmt: skip
    if edition is not None:
        took = time.monotonic() - began, time.process_time() - cpu
        take_timeline(write_metrics(settings, edition, *took, run_started_ms))
    return edition


def prepare_next(settings: Settings, *, report: Report = print) -> bool:
    """Update the replica that nobody reads to the newest build, and put its finished periods in the readers' order, so
    that the next publish has only its own minute to copy: if it lacks backfilled rows, or a period waits for that.
    Returns whether it did."""
    with writer_lock(settings.home, "publish", report=report):
        current, manifest = read_current(settings.serving), prepare_manifest(settings, report)
        if current is None:
            return False
        served, resources, bulk = read_served(manifest), settings.build_resources, settings.bulk
        with open_by_name(settings.warehouse, resources, read_only=True, at=newest_closed(settings.warehouse)) as con:
            [(past,)] = con.execute(f"select coalesce(max(build_id), 0) from {NOTES}").fetchall()
        if not _waits(settings.serving / unread(current), served, current["as_of_ms"], past):
            return False
        return publish_locked(
            settings.warehouse, settings.serving, manifest, resources, served=served, bulk=bulk, serve=False,
            report=report,
        ) is not None  # fmt: skip


def unread(current: Mapping[str, Any] | None) -> str:
    """The replica that nobody reads."""
    return next(name for name in REPLICAS if not current or name != current["replica"])


def _waits(replica_file: Path, served: Served, as_of_ms: int, past_build: int) -> bool:
    """Whether a replica lacks the backfilled rows of this build, or has finished periods that are not in order. A
    damaged one is repaired by the next publish."""
    if not replica_file.exists():
        return False
    try:
        with connection(str(replica_file), read_only=True) as con:
            state = state_of(con)
            return state is not None and (state[0] < past_build or clustering.waits(con, served, as_of_ms))
    except (duckdb.Error, UnreadableError):
        return False


def publish_locked(
    warehouse: str,
    serving: Path,
    manifest: Path,
    resources: Mapping[str, str | int] | None = None,
    force: bool = False,
    served: Served | None = None,
    bulk: Path | None = None,
    serve: bool = True,
    in_order: bool = True,
    reader_wait_s: float = READER_WAIT_S,
    repair: bool = True,
    begun: Begun | None = None,
    report: Report = print,
) -> Edition | None:
    """`publish` for a caller who holds the writer lock; `served` defaults to what the manifest says, `bulk` is the
    folder of bulk files, if there is one. With `serve` off, the replica that nobody reads is updated and the other one
    stays served. `repair` and `begun` as in `update_replica`."""
    serving.mkdir(parents=True, exist_ok=True)
    closed = newest_closed(warehouse)
    if not exists(warehouse) or (is_lake(warehouse) and closed is None):
        report("nothing to publish: nothing has been built yet")
        return None
    served = served or read_served(manifest)
    with open_by_name(warehouse, resources, read_only=True, at=closed) as con:
        newest = _newest_build(con, served)
    if newest is None:
        report("nothing to publish: nothing has been built yet")
        return None
    source = _Source(
        warehouse, resources, manifest, served, read_catalog(manifest), *newest, closed, bulk, serve, in_order
    )
    about_minute(source.as_of_ms)
    pointed = read_current(serving)
    current = pointed or newest_replica(serving)
    if pointed and not force:
        if source.as_of_ms < pointed["as_of_ms"] <= now_ms() + CLOCK_AHEAD_MS:
            report(f"edition {pointed['edition_id']} stays: it has more than the warehouse, which is being rebuilt")
            return None
        # What has begun is of a build that was closed a moment ago.
        if serve and not begun and _is_published(serving / pointed["replica"], source, report):
            return None
    edition = _write(serving / unread(current), source, current, reader_wait_s, repair, begun, report)
    if serve:
        point_to(serving, edition)
    return edition


def _newest_build(
    con: duckdb.DuckDBPyConnection, served: Served
) -> tuple[int, int | None, int | None, int, int, int | None, str] | None:
    """Of the warehouse's newest build what `_Source` has of it."""
    if not con.execute(f"select 1 from {TABLES_SQL} and schema_name = 'pipeline' and table_name = 'builds'").fetchone():
        return None
    if con.execute("select 1 from pipeline.window_minutes limit 1").fetchone():
        raise PipelineError(
            "the last build did not finish, so the warehouse is between two states: run the build again"
        )
    newest = con.execute(
        "select build_id, finished_ms, as_of_ms, (select min(min_tick_ms) from pipeline.loads) "
        "from pipeline.builds order by build_id desc limit 1"
    ).fetchone()
    if newest is None:
        return None
    # Of views, which every publish replaces, only the names: asking for their columns plans each of them, which takes a
    # quarter of a second of CPU.
    of = f"database_name = current_database() and list_contains([{literals(*served.views)}], view_name)"
    views = {name for (name,) in con.execute(f"select view_name from duckdb_views() where {of}").fetchall()}
    columns = [(table, _columns(con, f"main.{table}")) for table in sorted({*served.names}.difference(served.views))]
    lacking = [name for name, found in [*columns, (NOTES, _columns(con, NOTES))] if not found]
    if missing := [*sorted({*served.views} - views), *lacking]:
        raise PipelineError(
            f"the warehouse has no table {', '.join(missing)}: run `tidemark build`, with --rebuild if that is no help"
        )
    build_id, finished_ms, as_of_ms, since_ms = newest
    past = (
        "select max(started_ms), arg_max(finished_ms - started_ms, started_ms) "
        f"from pipeline.builds semi join {NOTES} using (build_id)"
    )
    [(past_started_ms, past_took_ms)] = con.execute(past).fetchall()
    orders = (table.order for table in served.tables)
    layout = json.dumps([*columns, clustering.STATE, replica.BASE_KEY_NOTED, BLOCK_BYTES, *orders])
    return build_id, past_started_ms, past_took_ms, finished_ms, as_of_ms, since_ms, layout


def _columns(con: duckdb.DuckDBPyConnection, table: str) -> list[tuple[str, str]]:
    """Name and type of each column of a table; empty if there is no such table. (DuckDB's list of all columns evaluates
    every view of the warehouse: a third of a second of CPU.)"""
    try:
        return con.execute(f"select name, type from pragma_table_info('{table}')").fetchall()
    except duckdb.CatalogException:
        return []


def read_catalog(manifest: Path) -> dict[str, dict[str, Any]]:
    """The definitions of the dbt metrics that the API serves, by their API name.

    A dbt metric without an API name is only an input of other metrics.
    """

    def catalog(content: Mapping[str, Any]) -> dict[str, Any]:
        found = {}
        for node in content["metrics"].values():
            definition = {"title": node["label"], "description": node["description"], **node["config"]["meta"]}
            if name := definition.pop("api_name", None):
                found[name] = definition
        return found

    return from_manifest(manifest, "served_metrics", catalog)


def _is_published(path: Path, source: _Source, report: Report) -> bool:
    """Whether the served replica is up to date; a missing or damaged one is not."""
    try:
        with connection(str(path), read_only=True) as con:
            if state_of(con) != (source.build_id, source.finished_ms, source.columns):
                return False
            published = {metric: json.loads(text) for metric, text in con.execute("from catalog").fetchall()}
            same_tiers = con.execute("from tiers").fetchall() == _tier_rows(source.served)
            return published == source.catalog and same_tiers
    except (duckdb.Error, UnreadableError) as error:
        report(f"{path.name}, which is served, cannot be read: {error}")
        return False


def state_of(con: duckdb.DuckDBPyConnection) -> tuple[int, int, str] | None:
    """The last build that a replica contains, with its end time, which identifies the warehouse; None if unknown."""
    try:
        row = con.execute("select build_id, finished_ms, columns from publish_state").fetchone()
    except duckdb.CatalogException:
        return None
    return (row[0], row[1], row[2]) if row else None


def _write(
    target: Path,
    source: _Source,
    current: dict[str, Any] | None,
    reader_wait_s: float,
    repair: bool,
    begun: Begun | None,
    report: Report,
) -> Edition:
    """Update one replica file in one transaction. If it cannot be updated, it is replaced by a copy of the served
    replica, which lacks only the newest changes, and if that fails too, filled from nothing; an error with `repair`
    off, but for the first one of a home."""

    def filled(from_scratch: bool = False) -> Edition:
        if begun:
            return _fill(begun.con, target.name, source, current, from_scratch, begun)
        # A log costs an update a tenth, and nobody needs it: `_fill` ends with a checkpoint, and one that dies before
        # is done again. Only a filling from nothing, which is much, has one.
        logged = not target.exists()
        with open_replica(target, source.resources or {}, logged=logged, wait_s=reader_wait_s) as con:
            return _fill(con, target.name, source, current, from_scratch)

    if not repair:
        if target.exists():
            return filled()
        if current:
            raise _StaleReplicaError(f"there is no {target.name}")
        return filled(from_scratch=True)
    pointed = target.with_name(current["replica"]) if current else target
    for origin in [None, pointed] if pointed != target and pointed.exists() else [None]:
        if origin:
            _copy(origin, target)
        try:
            return filled()
        except _StaleReplicaError as reason:
            report(f"{target.name} is filled again: {reason}")
        except (duckdb.Error, UnreadableError) as error:
            if not any(word in str(error) for word in CORRUPT):
                raise
            report(f"{target.name} is filled again, because it is damaged: {error}")
        for file in (target, target.with_name(f"{target.name}.wal")):
            file.unlink(missing_ok=True)
    return filled(from_scratch=True)


def _copy(origin: Path, target: Path) -> None:
    """Copy a file that nobody writes; it gets its final name when it is complete and synced to disk."""
    written = target.with_name(f"{target.name}.new")
    try:
        shutil.copyfile(origin, written)
        with written.open("rb") as file:
            os.fsync(file.fileno())
        written.replace(target)
    finally:
        written.unlink(missing_ok=True)


class _StaleReplicaError(PipelineError):
    """This replica cannot be updated by the changes since its last build."""


def _fill(
    con: duckdb.DuckDBPyConnection,
    name: str,
    source: _Source,
    current: dict[str, Any] | None,
    from_scratch: bool,
    begun: Begun | None = None,
) -> Edition:
    served = source.served
    attach(con, source.warehouse, source.closed)
    state = state_of(con)
    if not from_scratch:
        _check_continues(con, state, source)
    last = con.execute("select max(edition_id) from edition").fetchone() if state else None
    newest = max(current["edition_id"] if current else 0, (last[0] if last else None) or 0)
    edition_id, published_ms = newest + 1, now_ms()
    # All hosts that publish from a lake number and date a window alike, so that they give the same answers.
    if source.closed and source.closed.snapshot_id >= newest:
        edition_id, published_ms = source.closed
    elif current and not source.serve:
        edition_id, published_ms = current["edition_id"], current["published_ms"]
    edition = Edition(
        edition_id=edition_id,
        as_of_ms=source.as_of_ms,
        published_ms=published_ms,
        recorded_since_ms=source.recorded_since_ms,
        build_id=source.build_id,
        replica=name,
        past_started_ms=source.past_started_ms,
        past_took_ms=source.past_took_ms,
    )
    con.execute(replica.STATE + clustering.STATE + methodology.STATE + bulk_folder.STATE)
    if state is None:
        # Not in the transaction: an interrupted fill has no published state and is started again.
        replica.copy_all(con, served, source.as_of_ms)
    [(threads,)] = con.execute("select current_setting('threads')").fetchall()
    at_once = min((source.resources or {}).get("threads", threads), TABLES_AT_ONCE)
    if state is not None:
        # Measured: for the few rows of a minute a second thread costs half as much CPU again and saves no time. One
        # checkpoint is enough, at the end.
        con.execute("set threads = 1")
        con.execute("set checkpoint_threshold = '1GB'")
        replica.copy_touched(con, served, state[0], source.as_of_ms, at_once, begun)
    con.execute("begin")
    if state is not None:
        rewritten, ended = clustering.cluster_finished(con, served, source.as_of_ms) if source.in_order else (0, False)
        if ended:
            con.execute(f"set threads = {threads}")
        else:
            # Measured: the checkpoint of rows that are rewritten until they are clustered costs a third without the
            # thorough compression methods and without merging small row groups, which would rewrite most of them every
            # minute. Those are merged when an hour has ended, and not with each window of the past, which puts other
            # periods in order: that took 8 s of 15.
            con.execute("set max_vacuum_tasks = 0")
            if source.in_order and not rewritten:
                rewritten = clustering.compact_some(con, served, source.as_of_ms)
            if not rewritten:
                con.execute(f"set disabled_compression_methods = '{THOROUGH}'")
        replica.drop_old(con, served, source.as_of_ms)
    else:
        replica.copy_small(con, served)
    # Between builds somebody may have made a view by hand, which a publish of its own takes.
    replica.copy_views(con, served, changed_only=begun is not None)
    replica.note_states(con, served, source.build_id)
    methodology.copy_methodology(con, source.manifest)
    if source.bulk:
        bulk_folder.list_files(con, source.bulk, [table.name for table in served.tables if table.tier.keep_days])
    definitions = [(metric, json.dumps(definition)) for metric, definition in source.catalog.items()]
    for table, rows in (("catalog", definitions), ("tiers", _tier_rows(served))):
        if con.execute(f"from {table}").fetchall() != rows:
            con.execute(f"delete from {table}")
            if rows:
                con.execute(f"insert into {table} values {', '.join(f'({literals(*row)})' for row in rows)}")
    con.execute("delete from edition")
    now = (edition.edition_id, edition.as_of_ms, edition.published_ms, edition.recorded_since_ms, edition.build_id)
    con.execute(f"insert into edition values ({literals(*now)})")
    con.execute("delete from publish_state")
    state = (source.build_id, source.finished_ms, source.columns)
    con.execute(f"insert into publish_state values ({literals(*state)})")
    con.execute("commit")
    detach(con)
    con.execute("checkpoint")
    return edition


def _check_continues(con: duckdb.DuckDBPyConnection, state: tuple[int, int, str] | None, source: _Source) -> None:
    """Raise if the warehouse's changes do not lead from this replica's state to the newest build."""
    if state is None:
        raise _StaleReplicaError("it holds no published state")
    build_id, finished_ms, columns = state
    if columns != source.columns:
        raise _StaleReplicaError("the tables have other columns now, or lie in another order")
    same = con.execute(
        f"select 1 from warehouse.pipeline.builds where build_id = {build_id} and finished_ms = {finished_ms}"
    ).fetchone()
    if same is None:
        raise _StaleReplicaError("the warehouse was rebuilt, or no longer knows this replica's build")


def _tier_rows(served: Served) -> list[tuple[str, int, int | None]]:
    return [(tier.step, tier.step_ms, tier.keep_days) for tier in served.tiers]
