"""Dagster's entry: assets, the minute, hourly and daily jobs, and when they run.

The UI shows the way of a number from venue to served table; the recorder and the API are processes of their own.
"""

import time

import dagster as dg

from orchestration.code_location.assets import (
    AHEAD_S,
    BUILT,
    UPKEEP,
    docs_asset,
    is_ahead,
    serving_asset,
    source_assets,
    warehouse_assets,
)
from orchestration.code_location.checks import freshness_check
from orchestration.code_location.history_asset import history_asset
from orchestration.code_location.quality_checks import quality_checks, quality_schedule, report_asset
from orchestration.code_location.upkeep import end_dead_runs, mark_alive, upkeep
from orchestration.config.settings import Settings
from orchestration.quality.declared import PERIODS

settings = Settings.from_env()
warehouse, serving, docs = warehouse_assets(settings), serving_asset(settings), docs_asset(settings)
alive = freshness_check(settings)
quality = {period: quality_checks(settings, period) for period in PERIODS}
quality_schedules = [quality_schedule(quality[period], period) for period in PERIODS]
IN_PROGRESS = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]

minute_job = dg.define_asset_job(
    "minute",
    # Views and seeds are left out, because every asset of a run costs: measured, 50 ms of CPU each.
    selection=(
        (dg.AssetSelection.tag(BUILT, "every_minute") & dg.AssetSelection.assets(warehouse))
        | dg.AssetSelection.assets(serving)
    ).without_checks(),
    description="Wait for this minute's load, build it, publish a new edition.",
    executor_def=dg.in_process_executor,
    tags={"dagster/max_runtime": 3600, "dagster/priority": 10},
)
hourly_job = dg.define_asset_job(
    "hourly",
    selection=dg.AssetSelection.assets(docs)
    | (dg.AssetSelection.all_asset_checks() - dg.AssetSelection.checks(*quality.values())),
    description="Test the tables (dbt tests as checks), check that the recorder is alive, generate the dbt docs.",
    executor_def=dg.in_process_executor,
    tags={"dagster/max_runtime": 1800},
)


@dg.op(pool=UPKEEP, description="Prune run history, compact the landing, trim fine tables, remove old logs.")
def upkeep_everything(context: dg.OpExecutionContext) -> None:
    mark_alive(settings.dagster_home, context.run_id)
    for line in upkeep(settings, context.instance, say=context.log.info):
        context.log.info(line)


@dg.job(
    name="daily",
    executor_def=dg.in_process_executor,
    description="Upkeep: what keeps a Tidemark that runs for years as fast as on its first day.",
    tags={"dagster/max_runtime": 7200},
)
def daily_job() -> None:
    upkeep_everything()


@dg.sensor(
    job=minute_job,
    minimum_interval_seconds=10,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description=f"Starts the run of each minute {AHEAD_S} seconds or less before the minute begins, so that the run is "
    "ready when the minute's load is committed (a schedule knows whole minutes alone). One run at a time: a minute "
    "whose run would have to wait is skipped, and the next one builds both.",
)
def every_minute(context: dg.SensorEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    for ended in end_dead_runs(context.instance, settings.dagster_home):
        context.log.warning(f"run {ended} is marked as failed: its process is gone")
    if context.instance.get_runs(dg.RunsFilter(job_name="minute", statuses=IN_PROGRESS), limit=1):
        return dg.SkipReason("the run of an earlier minute is not finished")
    if not is_ahead(time.time_ns() // 1_000_000):
        return dg.SkipReason(f"the next minute begins in more than {AHEAD_S} seconds")
    return dg.RunRequest()


every_hour = dg.ScheduleDefinition(
    name="every_hour", cron_schedule="7 * * * *", job=hourly_job, default_status=dg.DefaultScheduleStatus.RUNNING
)
every_day = dg.ScheduleDefinition(
    name="every_day", cron_schedule="37 3 * * *", job=daily_job, default_status=dg.DefaultScheduleStatus.RUNNING
)

defs = dg.Definitions(
    assets=[*source_assets(), history_asset(settings), warehouse, serving, docs, report_asset(settings)],
    asset_checks=[alive, *quality.values()],
    jobs=[minute_job, hourly_job, daily_job, *(schedule.job for schedule in quality_schedules)],
    sensors=[every_minute],
    schedules=[every_hour, every_day, *quality_schedules],
)
