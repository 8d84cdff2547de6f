"""Dagster's entry point: assets, asset checks, the minute, hourly, daily, bulk and upgrade jobs, their sensors and
schedules.

The recorder and the API are separate processes, which Dagster does not start.
"""

import dagster as dg

from orchestration.code_location import lineage
from orchestration.code_location.checks import freshness_check
from orchestration.code_location.history_asset import history_asset, history_sensor
from orchestration.code_location.minute import minute_job, minute_sensor
from orchestration.code_location.models import dbt_resource, model_assets, read_manifest
from orchestration.code_location.quality_checks import quality_checks, quality_schedule, report_asset
from orchestration.code_location.serving import bulk_asset, docs_asset, edition_asset
from orchestration.code_location.upgrade import upgrade_job, upgrade_sensor
from orchestration.code_location.upkeep import upkeep_job
from orchestration.config.settings import Settings
from orchestration.quality.suites import PERIODS

settings = Settings.from_env()
manifest = read_manifest(settings)
models, docs = model_assets(settings, manifest), docs_asset(settings)
minute = minute_job(settings, manifest, {spec.key for spec in models.specs if spec.partitions_def is not None})
quality = {period: quality_checks(settings, period) for period in PERIODS}
quality_schedules = [quality_schedule(quality[period], period) for period in PERIODS]
hourly = dg.define_asset_job(
    "hourly",
    selection=dg.AssetSelection.assets(docs)
    | (dg.AssetSelection.all_asset_checks() - dg.AssetSelection.checks(*quality.values())),
    description="Test the tables (dbt tests as checks), check that the recorder is alive, generate the dbt docs.",
    tags={"dagster/max_runtime": 1800},
)
daily = upkeep_job(settings)
bulk_files = bulk_asset(settings)
bulk = dg.define_asset_job(
    "bulk",
    selection=dg.AssetSelection.assets(bulk_files),
    description="Write the finished days of the series as Parquet files.",
    tags={"dagster/max_runtime": 43_200},
)
every_minute = minute_sensor(settings, minute)
upgrade = upgrade_job(settings)
days_to_rebuild = upgrade_sensor(settings, upgrade)

defs = dg.Definitions(
    assets=[
        *lineage.venues(),
        *lineage.landing(),
        history_asset(settings),
        models,
        edition_asset(settings),
        bulk_files,
        docs,
        report_asset(settings),
        *lineage.exposures(manifest, settings.api_url),
    ],
    asset_checks=[freshness_check(settings), *quality.values()],
    jobs=[minute, hourly, daily, bulk, upgrade, *(schedule.job for schedule in quality_schedules)],
    sensors=[every_minute, history_sensor(settings), days_to_rebuild],
    schedules=[
        dg.ScheduleDefinition(
            name="every_hour", cron_schedule="7 * * * *", job=hourly, default_status=dg.DefaultScheduleStatus.RUNNING
        ),
        dg.ScheduleDefinition(
            name="every_day", cron_schedule="37 3 * * *", job=daily, default_status=dg.DefaultScheduleStatus.RUNNING
        ),
        # When the day before is finished: its late data has come by then.
        dg.ScheduleDefinition(
            name="every_day_bulk", cron_schedule="17 4 * * *", job=bulk, default_status=dg.DefaultScheduleStatus.RUNNING
        ),
        *quality_schedules,
    ],
    resources={"dbt": dbt_resource()},
    # One process per run: measured, ten small assets take 2.8 s in one process and 17 s with a process each.
    executor=dg.in_process_executor,
)
