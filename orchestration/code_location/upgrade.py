"""The job `upgrade`: build again what an earlier version built, beside the minutes; and the sensor that starts it."""

import dagster as dg
import duckdb

from orchestration.code_location.minute import IN_PROGRESS
from orchestration.code_location.upkeep import mark_alive
from orchestration.config.clock import as_utc
from orchestration.config.settings import Settings
from orchestration.publish.edition import read_current
from orchestration.warehouse.upgrade import rebuild

# A pool of its own: it may work for days.
UPGRADE = "upgrade"
# A run ends after this long, so that a new release of the code does not wait for it; the sensor starts the next.
RUN_S = 900.0


def upgrade_job(settings: Settings) -> dg.JobDefinition:
    """The job that rebuilds planned days until `RUN_S` is over."""

    @dg.op(
        pool=UPGRADE, description="Build planned days again, the newest first, window by window between the minutes."
    )
    def rebuild_days(context: dg.OpExecutionContext) -> None:
        mark_alive(settings.dagster_home, context.run_id)
        for done in rebuild(settings, stop_after_s=RUN_S, paced=True, report=context.log.warning):
            context.log.info(
                f"{as_utc(done.day_ms, '%Y-%m-%d')}: {done.minutes} minutes in {done.seconds:.1f} s, "
                f"{done.left} days are left"
            )

    @dg.job(
        name="upgrade",
        executor_def=dg.in_process_executor,
        description="Build again the days that were built before the dbt project changed. Started by its sensor.",
        tags={"dagster/max_runtime": 3600},
    )
    def upgrade() -> None:
        rebuild_days()

    return upgrade


def upgrade_sensor(settings: Settings, job: dg.JobDefinition) -> dg.SensorDefinition:
    """The sensor that starts the job while days are left."""

    @dg.sensor(
        job=job,
        minimum_interval_seconds=60,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Starts the job while the served edition has days that are to be built again.",
    )
    def days_to_rebuild(context: dg.SensorEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        if not _days_are_left(settings):
            return dg.SkipReason("no day is to be built again")
        if context.instance.get_runs(dg.RunsFilter(job_name=job.name, statuses=IN_PROGRESS), limit=1):
            return dg.SkipReason("a run is at work")
        return dg.RunRequest()

    return days_to_rebuild


def _days_are_left(settings: Settings) -> bool:
    """As the served edition says: the warehouse may be locked by a build."""
    current = read_current(settings.serving)
    if current is None:
        return False
    try:
        with duckdb.connect(str(settings.serving / current["replica"]), read_only=True) as con:
            return con.execute(LEFT).fetchone() is not None
    except duckdb.Error:  # a replica of an earlier version, or one that a publish is replacing
        return False


LEFT = "select 1 from upgrade_days where finished_ms is null and error is null limit 1"
