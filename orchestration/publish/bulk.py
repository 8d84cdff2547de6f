"""Bulk files: the finished days of the stored series as Parquet, which DuckDB, pandas, Polars and Spark read without
the API.

A table has a file a UTC day; one that is clustered by month (steps of 4 hours and more) has a file a month, because ten
years of daily rows are then 120 files instead of 3,650. A day is finished when its late data has come, as compaction
has it; the file of a month that goes on has its finished days. A file is written again when its rows have changed:
builds say which days they touched, and a digest of the rows says whether anything is different.
"""

import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from orchestration.config import locks
from orchestration.config.clock import DAY_MS, now_ms
from orchestration.config.settings import Settings
from orchestration.publish.bulk_folder import BulkFile, BulkFolder, Period
from orchestration.publish.bulk_rows import NAME, EditionReader, RowsChangedError, read_rows, write_parquet
from orchestration.publish.clustering import COMPACT_AFTER_MS
from orchestration.publish.edition import read_current
from orchestration.warehouse.access import exists, open_by_name
from orchestration.warehouse.dbt_runner.process import prepare_manifest
from orchestration.warehouse.served import Table, period_at, read_served
from orchestration.warehouse.writer import PipelineError, Report, writer_lock

# How often the rows of a file are read again because a newer edition has others.
TRIES = 5
LOCK_WAIT_S = 600.0
TOUCHED = """
with built as (select distinct unnest(built_minutes) as t from pipeline.builds where build_id > {build_id}),
touched as (
    select t, t as last from built
    union all select minute_ms, minute_ms from pipeline.late_rows where build_id > {build_id}
    union all select from_ms, to_ms from pipeline.late_ranges where build_id > {build_id}
    union all select t, t from main.int_ratios where tick_ms in (select t from built) and source = 'recorded'
    union all select t, t from main.int_ratios where source = 'backfilled' and tick_ms in (
        select tick_ms from pipeline.past_minutes where build_id > {build_id})
)
select distinct unnest(range(t - t % {day}, last + 1, {day})) from touched
"""


class Written(NamedTuple):
    """What a pass did: files written and their bytes, files that were looked at and had the same rows, files removed
    because they are too old."""

    files: int = 0
    bytes: int = 0
    unchanged: int = 0
    removed: int = 0


def write_bulk(settings: Settings, report: Report = print) -> Written:
    """Write the files of what is finished and was not written yet, or has changed since; remove those that are too old.
    An interrupted pass is continued by the next one."""
    if settings.bulk_days == 0:
        report("no bulk files are written: TIDEMARK_BULK_DAYS is off")
        return Written()
    if read_current(settings.serving) is None:
        report("no bulk files are written: nothing has been published yet")
        return Written()
    lock = locks.take(settings.home / "bulk.lock")
    if lock is None:
        raise PipelineError(f"another process writes the files in {settings.bulk}")
    try:
        return write_folder(settings, prepare_manifest(settings, report), report)
    finally:
        os.close(lock)


def write_folder(settings: Settings, manifest: Path, report: Report = print) -> Written:
    """`write_bulk` for a caller who holds its lock and has dbt's manifest."""
    tables, models = read_served(manifest).tables, _models(manifest)
    folder = BulkFolder.open(settings.bulk)
    files, unchanged = list[BulkFile](), 0
    with EditionReader(settings.serving, settings.quality_resources) as reader:
        [state] = reader.rows(f"select build_id, finished_ms from {NAME}.main.publish_state")
        periods = {table.name: list(_finished(reader, table)) for table in tables}
        folder.tables = {table.name: _described(reader, table, models[table.name]) for table in tables}
        changed = _touched(settings, folder.checked, report)
        kept_from = _kept_from(settings.bulk_days, folder, [one for found in periods.values() for one in found])
        try:
            for table in tables:
                written = list[BulkFile]()
                for period in periods[table.name]:
                    if period.end > kept_from and _is_due(folder, table, period, changed):
                        made = _write(reader, folder, table, period)
                        written += [made] if made else []
                        unchanged += made is None
                if written:
                    report(f"{table.name}: {len(written)} files, {sum(one.bytes for one in written) / 1e6:.1f} MB")
                files += written
            # Not before: the next pass looks again at what an interrupted one left out.
            folder.checked = state
        finally:
            folder.save()
    removed = folder.remove_before(kept_from)
    return Written(len(files), sum(file.bytes for file in files), unchanged, removed)


def _finished(reader: EditionReader, table: Table) -> Iterator[Period]:
    """The finished periods of which the newest edition has rows, the newest first."""
    unit, name = ("month", "%Y-%m") if table.tier.period == "month" else ("day", "%Y-%m-%d")
    as_of_ms = reader.current["as_of_ms"]
    finished = (as_of_ms - COMPACT_AFTER_MS) // DAY_MS * DAY_MS
    days = reader.days_of(table, table.tier.kept_from(as_of_ms), finished)
    for start, end in sorted({period_at(unit, day) for day in days}, reverse=True):
        yield Period(f"{unit}={datetime.fromtimestamp(start / 1000, UTC):{name}}", start, min(end, finished))


def _touched(settings: Settings, checked: tuple[int, int] | None, report: Report) -> set[int] | None:
    """The days that builds have touched since the last complete pass; None if that is not known, as after a rebuild."""
    if checked is None or not exists(settings.warehouse):
        return None
    build_id, finished_ms = checked
    with (
        writer_lock(settings.home, "look at what was built", wait_s=LOCK_WAIT_S, report=report),
        open_by_name(settings.warehouse, settings.quality_resources, read_only=True) as con,
    ):
        known = f"from pipeline.builds where build_id = {build_id} and finished_ms = {finished_ms}"
        if con.execute(f"select 1 {known}").fetchone() is None:
            return None
        return {day for (day,) in con.execute(TOUCHED.format(build_id=build_id, day=DAY_MS)).fetchall()}


def _kept_from(days: int | None, folder: BulkFolder, periods: list[Period]) -> int:
    """The start of the oldest day to keep. Days are counted that have files, as in the trim of the warehouse: a clock
    that runs ahead for some hours removes no others."""
    covered = [(one.partition, one.end) for one in folder.files.values()]
    covered += [(one.partition, one.end) for one in periods]
    ends = sorted({end for partition, end in covered if partition.startswith("day=")})
    return ends[-days] - DAY_MS if days and len(ends) > days else 0


def _is_due(folder: BulkFolder, table: Table, period: Period, changed: set[int] | None) -> bool:
    file = folder.files.get((table.name, period.partition))
    if file is None or file.end != period.end or changed is None:
        return True
    return not changed.isdisjoint(range(period.start, period.end, DAY_MS))


def _write(reader: EditionReader, folder: BulkFolder, table: Table, period: Period) -> BulkFile | None:
    """Write the file of a period; None if there is one with these rows."""
    about = {"table": table.name, "start": period.start, "end": period.end, **folder.tables[table.name]}
    for _ in range(TRIES):
        read = read_rows(reader, table, period)
        before = folder.files.get((table.name, period.partition))
        if not read.rows or (before and (before.digest, before.end) == (read.digest, period.end)):
            return None
        file = BulkFile(
            table=table.name,
            **period._asdict(),
            rows=read.rows,
            digest=read.digest,
            buckets_missing=(period.end - period.start) // table.tier.step_ms - read.buckets,
            minutes_missing=read.minutes_missing,
            minutes_partial=read.minutes_partial,
            edition=read.edition,
            written_ms=now_ms(),
        )
        try:
            return folder.put(file, partial(write_parquet, reader, read, about=about))
        except RowsChangedError:
            continue
    raise PipelineError(f"the rows of {table.name} of {period.partition} changed {TRIES} times while they were read")


def _models(manifest: Path) -> dict[str, Any]:
    """dbt's models, which say what tables and columns mean."""
    nodes = json.loads(manifest.read_bytes())["nodes"].values()
    return {node["name"]: node for node in nodes if node["resource_type"] == "model"}


def _described(reader: EditionReader, table: Table, model: Mapping[str, Any]) -> dict[str, Any]:
    """A table's step, description and columns, in the order of its files."""
    said = {name: column.get("description", "") for name, column in model["columns"].items()}
    columns = reader.columns_of(table).items()
    return {
        "step": table.tier.step,
        "description": model["description"],
        "columns": [{"name": name, "type": kind.lower(), "description": said.get(name, "")} for name, kind in columns],
    }
