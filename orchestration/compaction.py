"""Compaction of the landing: a finished, built day's loads become one file, so that listing a landing stays cheap.

The compacted file is named after the day's newest load (`<load id>.compacted-<ms>.parquet`, in the same folder), so it
is committed with that load and known by its id. Every step may be interrupted: nothing is removed before the compacted
file is on disk and the warehouse knows it, and a row that is in two files is built once.
"""

import os
import time
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import fsspec

from ingest.landing import LOADS, PIPELINE, Load, committed_loads
from orchestration.settings import Settings
from orchestration.writer import connection

MARK = ".compacted-"
# A group of rows is what a reader of a few ticks unpacks; DuckDB's smallest has 2,048 rows.
ROW_GROUP = 2048


def compact_landing(settings: Settings, before_day: str | None = None) -> int:
    """Compact the built days before yesterday; returns how many. The caller holds the writer lock."""
    before_day = before_day or (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%d")
    days: dict[str, list[Load]] = defaultdict(list)
    for load in committed_loads(settings.landing):
        days[load.files[0].split("/")[-2]].append(load)
    filesystem, root = fsspec.core.url_to_fs(settings.landing)
    count = 0
    with connection(settings.warehouse) as con:
        for day, loads in sorted(days.items()):
            if day < before_day and sum(len(load.files) for load in loads) > 1 and _all_built(con, loads):
                _compact(con, filesystem, f"{root}/{LOADS}", loads)
                count += 1
    return count


def _all_built(con: duckdb.DuckDBPyConnection, loads: list[Load]) -> bool:
    query = "select count(distinct load_id) from pipeline.loads where list_contains($ids, load_id)"
    row = con.execute(query, {"ids": [load.load_id for load in loads]}).fetchone()
    return row is not None and row[0] == len(loads)


def _compact(con: duckdb.DuckDBPyConnection, filesystem: Any, commits: str, loads: list[Load]) -> None:
    files = [file for load in loads for file in load.files]
    ids = [load.load_id for load in loads]
    known = dict(
        con.execute(
            "select load_id, file from pipeline.loads where list_contains($ids, load_id)", {"ids": ids}
        ).fetchall()
    )
    # An interrupted compaction may have left originals of loads that the warehouse reads from its file already.
    done = {load.load_id for load in loads if MARK in (known[load.load_id] or "") and known[load.load_id] in files}
    sources = [file for load in loads for file in load.files if load.load_id not in done or MARK in file]
    newest = loads[-1]
    target = sources[0]
    if len(sources) > 1:
        folder = newest.files[0].rpartition("/")[0]
        target = f"{folder}/{newest.load_id}{MARK}{time.time_ns() // 1_000_000}.parquet"
        _write(sources, target, filesystem)
        con.execute(
            "update pipeline.loads set file = $target where list_contains($ids, load_id)",
            {"target": target, "ids": ids},
        )
    for file in files:
        if file != target:
            filesystem.rm_file(file)
    for load_id in ids:
        if not target.rpartition("/")[2].startswith(f"{load_id}."):
            filesystem.rm_file(f"{commits}/{PIPELINE}__{load_id}.jsonl")


def _write(sources: list[str], target: str, filesystem: Any) -> None:
    """All rows of the sources in their order, which is that of their ticks: unsorted, so memory stays small."""
    partial = f"{target}.partial"
    quoted = partial.replace("'", "''")
    with duckdb.connect(config={"threads": 1, "preserve_insertion_order": True}) as con:
        con.execute(
            f"copy (select * from read_parquet($files, union_by_name = true)) to '{quoted}' "
            f"(format parquet, compression zstd, row_group_size {ROW_GROUP})",
            {"files": sources},
        )
    if Path(partial).exists():
        with Path(partial).open("rb") as file:
            os.fsync(file.fileno())
    filesystem.mv(partial, target)
