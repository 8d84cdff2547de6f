"""Compaction of the landing: the loads of a finished, built day become one file, so that listing a landing stays cheap.

The compacted file is named after the day's newest load (`<load id>.compacted-<ms>.parquet`, in the same folder), so it
is committed with that load and known by its id. Every step may be interrupted: no file is removed before the compacted
one is on disk and registered in the warehouse, and a row that is in two files is built once. The writer lock is held
only for moments, while files are registered: a day of a large universe is gigabytes, and no minute waits while it is
read. Then the day's staged rows are kept (see `staged`).
"""

import os
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

from ingest.landing.dlt_files import LOADS, commit_file
from ingest.landing.loads import COMPACTED, TABLE, Load, committed_loads, in_landing
from ingest.landing.store import open_store
from orchestration.config.clock import now_ms
from orchestration.config.settings import Settings
from orchestration.warehouse.access import open_warehouse, warehouse_lock
from orchestration.warehouse.packing import packed_file, packed_rows
from orchestration.warehouse.staged import compacted_days, is_kept, keep_staged, remove_kept, step_back
from orchestration.warehouse.writer import Report

PARTIAL = ".partial"
LOCK_WAIT_S = 600.0
# Of so many of the newest compacted days staged rows are kept if they are not yet: a long history that was compacted
# before they were kept would take days of CPU.
KEPT_DAYS = 7


def compact_landing(settings: Settings, before_day: str | None = None, report: Report = print) -> int:
    """Compact the built days before yesterday; returns how many. Takes the writer lock itself, day by day."""
    before_day = before_day or (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%d")
    days: dict[str, list[Load]] = defaultdict(list)
    for load in committed_loads(settings.landing):
        days[load.files[0].split("/")[-2]].append(load)
    filesystem, root = open_store(settings.landing)
    compacted = 0
    for day, loads in sorted(days.items()):
        if day < before_day and sum(len(load.files) for load in loads) > 1:
            compacted += _compact(settings, filesystem, f"{root}/{LOADS}", loads, report)
    _keep_staged(settings, report)
    return compacted


def _keep_staged(settings: Settings, report: Report) -> None:
    """Keep the staged rows of the newest compacted days, and remove those of files that are gone or too old."""
    files = compacted_days(settings.landing)
    days = sorted(files, reverse=True)[: settings.staged_days]
    remove_kept(settings.landing, [file for day in days for file in files[day]])
    for day in days[:KEPT_DAYS]:
        for file in files[day]:
            if not is_kept(file):
                keep_staged(settings, file, report)


@contextmanager
def _warehouse(settings: Settings, report: Report) -> Iterator[duckdb.DuckDBPyConnection]:
    with (
        warehouse_lock(settings, "compaction of the landing", wait_s=LOCK_WAIT_S, report=report),
        open_warehouse(settings) as con,
    ):
        yield con


def _known(con: duckdb.DuckDBPyConnection, landing: str, ids: list[str]) -> dict[str, str | None]:
    """The file from which the warehouse reads the rows of these loads, for built loads."""
    query = "select load_id, file from pipeline.loads where list_contains($ids, load_id) order by all"
    rows = con.execute(query, {"ids": ids}).fetchall()
    return {load_id: file and in_landing(landing, file) for load_id, file in rows}


def _abandoned(con: duckdb.DuckDBPyConnection, landing: str, files: list[str]) -> set[str]:
    """Files of compactions that were interrupted before the warehouse registered them.

    All of their rows are in the originals if every file of the day that the warehouse has registered exists: a
    warehouse that was restored from a backup may be older than the landing.
    """
    folder = f"/{TABLE}/{files[0].split('/')[-2]}/"
    query = "select distinct file from pipeline.loads where contains(file, $folder)"
    noted = {in_landing(landing, file) for (file,) in con.execute(query, {"folder": folder}).fetchall()}
    return {file for file in files if COMPACTED in file} - noted if noted <= set(files) else set()


def _compact(settings: Settings, filesystem: Any, commits: str, loads: list[Load], report: Report) -> bool:
    files = [file for load in loads for file in load.files]
    ids = [load.load_id for load in loads]
    with _warehouse(settings, report) as con:
        known = _known(con, settings.landing, ids)
        abandoned = _abandoned(con, settings.landing, files)
    if len(known) < len(loads):
        return False  # not built yet
    # An interrupted compaction may have left originals of loads whose compacted file is already registered.
    done = {load.load_id for load in loads if COMPACTED in (known[load.load_id] or "") and known[load.load_id] in files}
    sources = [
        file
        for load in loads
        for file in load.files
        if file not in abandoned and (load.load_id not in done or COMPACTED in file)
    ]
    newest = loads[-1]
    target = sources[0]
    if len(sources) > 1:
        folder = newest.files[0].rpartition("/")[0]
        target = f"{folder}/{newest.load_id}{COMPACTED}{now_ms()}.parquet"
        with ThreadPoolExecutor(1, initializer=step_back) as aside:
            aside.submit(_write, sources, target, filesystem).result()
    with _warehouse(settings, report) as con:
        if _known(con, settings.landing, ids) != known:
            # The warehouse was rebuilt meanwhile: the next upkeep sees what is built. It may know this file beside the
            # originals, which hold the same rows.
            if target not in files:
                con.execute("delete from pipeline.loads where file = $target", {"target": target})
                filesystem.rm_file(target)
            return False
        if target not in files:
            con.execute(
                "update pipeline.loads set file = $target "
                "where list_contains($ids, load_id) or list_contains($names, parse_filename(file))",
                {"target": target, "ids": ids, "names": [file.rpartition("/")[2] for file in files]},
            )
        for file in files:
            if file != target:
                filesystem.rm_file(file)
        for load_id in ids:
            if not target.rpartition("/")[2].startswith(f"{load_id}."):
                filesystem.rm_file(f"{commits}/{commit_file(load_id)}")
    return True


def _write(sources: list[str], target: str, filesystem: Any) -> None:
    """Write all rows of the sources, packed. On one thread, and with the memory of one block."""
    for left in filesystem.glob(f"{target.rpartition('/')[0]}/*{COMPACTED}*{PARTIAL}"):
        filesystem.rm_file(left)  # left by an interrupted compaction
    partial = f"{target}{PARTIAL}"
    with (
        duckdb.connect(config={"threads": 1}) as con,
        filesystem.open(partial, "wb") as file,
        packed_file(file) as packed,
    ):
        for rows in packed_rows(con, sources):
            packed.write_batch(rows)
    if Path(partial).exists():
        with Path(partial).open("rb") as written:
            os.fsync(written.fileno())
    filesystem.mv(partial, target)
