"""Daily upkeep, which keeps an installation fast over years, and the clean-up of runs whose process died.

The landing is compacted day by day, fine tables and the pipeline's own tables are trimmed, Dagster's run history is
pruned and old logs are removed.
"""

import os
import shutil
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg

from orchestration.config import locks
from orchestration.config.settings import Settings
from orchestration.warehouse.access import maintain
from orchestration.warehouse.compaction import compact_landing
from orchestration.warehouse.trim import LOCK_WAIT_S, trim_warehouse
from orchestration.warehouse.writer import Report

# Each pool has one slot. Upkeep (tests, docs, the daily job) has its own pool, so that it can run beside the minutes:
# it takes the writer lock only for moments between them.
UPKEEP = "upkeep"
DAY_S = 86_400.0
RUNS_KEPT_DAYS, FAILED_RUNS_KEPT_DAYS, LOGS_KEPT_DAYS = 1, 14, 14
# A run marks itself alive when its first step begins; before that it may still be starting.
STARTING_S = 180.0
_held: dict[str, int] = {}


def upkeep(settings: Settings, instance: dg.DagsterInstance, report: Report = print) -> Iterator[str]:
    """Do all upkeep while minutes continue to be built; yields a line about each part."""
    yield f"{prune_runs(instance, settings.dagster_home)} old runs removed from Dagster's history"
    yield f"{compact_landing(settings, report=report)} days of the landing compacted"
    yield f"{trim_warehouse(settings, report=report)} old rows trimmed from the warehouse"
    if line := maintain(settings, wait_s=LOCK_WAIT_S, report=report):
        yield line
    yield f"{remove_old_logs(settings)} old logs removed"


def upkeep_job(settings: Settings) -> dg.JobDefinition:
    """The daily job."""

    @dg.op(pool=UPKEEP, description="Prune run history, compact the landing, trim fine tables, remove old logs.")
    def upkeep_everything(context: dg.OpExecutionContext) -> None:
        mark_alive(settings.dagster_home, context.run_id)
        for line in upkeep(settings, context.instance, report=context.log.info):
            context.log.info(line)

    @dg.job(
        name="daily",
        executor_def=dg.in_process_executor,
        description="Prune run history, compact the landing, trim fine tables, remove old logs.",
        tags={"dagster/max_runtime": 7200},
    )
    def daily() -> None:
        upkeep_everything()

    return daily


def prune_runs(instance: dg.DagsterInstance, dagster_home: Path, now: float | None = None) -> int:
    """Delete finished runs: successful ones after a day (there are 1,440), failed ones after two weeks."""
    now = time.time() if now is None else now
    removed = 0
    for statuses, days in (
        ([dg.DagsterRunStatus.SUCCESS], RUNS_KEPT_DAYS),
        ([dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED], FAILED_RUNS_KEPT_DAYS),
    ):
        removed += _prune(instance, dagster_home, statuses, datetime.fromtimestamp(now - days * DAY_S, UTC))
    return removed


def _prune(
    instance: dg.DagsterInstance, dagster_home: Path, statuses: list[dg.DagsterRunStatus], before: datetime
) -> int:
    removed = 0
    chosen = dg.RunsFilter(statuses=statuses, created_before=before)
    while runs := instance.get_runs(chosen, limit=200):
        for run in runs:
            instance.delete_run(run.run_id)
            shutil.rmtree(dagster_home / "storage" / run.run_id, ignore_errors=True)
            (dagster_home / "alive" / run.run_id).unlink(missing_ok=True)
        removed += len(runs)
    return removed


def remove_old_logs(settings: Settings, now: float | None = None) -> int:
    """Delete logs that were not written for two weeks: rotated ones and dbt's.

    Current logs `<name>.log` stay: a quiet process still writes to its log when it ends.
    """
    before = (time.time() if now is None else now) - LOGS_KEPT_DAYS * DAY_S
    old = [
        file
        for file in (*settings.logs.glob("*.log.*"), *settings.dbt_logs.glob("**/*"))
        if file.is_file() and file.stat().st_mtime < before
    ]
    for file in old:
        file.unlink(missing_ok=True)
    return len(old)


def mark_alive(dagster_home: Path, run_id: str) -> None:
    """Hold a lock for as long as this process lives, which shows other processes that the run is alive."""
    if run_id in _held:
        return
    descriptor = locks.take(dagster_home / "alive" / run_id)
    if descriptor is None:
        raise RuntimeError(f"another process holds the lock of run {run_id}")
    _held[run_id] = descriptor


def end_dead_runs(instance: dg.DagsterInstance, dagster_home: Path, now: float | None = None) -> list[str]:
    """Fail runs that Dagster shows as started although their process is gone, for example after a power cut.

    Such a run would hold the warehouse's pool, and every later minute would be skipped.
    """
    now = time.time() if now is None else now
    ended = []
    for record in instance.get_run_records(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED])):
        run_id, begun = record.dagster_run.run_id, record.start_time or record.create_timestamp.timestamp()
        mark = dagster_home / "alive" / run_id
        if not mark.exists() and now - begun < STARTING_S:
            continue
        if mark.exists() and _is_held(mark):
            continue
        instance.report_run_failed(record.dagster_run, "the process of this run is gone")
        mark.unlink(missing_ok=True)
        ended.append(run_id)
    return ended


def _is_held(mark: Path) -> bool:
    descriptor = locks.take(mark)
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is None
