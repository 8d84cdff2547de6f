"""The job `minute`: wait for the minute's load, build what was recorded, publish an edition, and in the time that is
left build and publish loads of the past; and the sensor that starts it.

It is a job of ops, which report the materialized partitions of each model. An asset job of the same 41 models cost
3.9 s of CPU in the run's process, one of ops 2.6 s: Dagster plans and finishes every asset of a run. In an asset job, a
model without changes would also keep the edition from being published.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
from dagster_dbt.errors import DagsterDbtError

from orchestration.code_location import fast_dbt
from orchestration.code_location.lineage import EDITION, LANDING
from orchestration.code_location.models import Translator, hours_of
from orchestration.code_location.upkeep import end_dead_runs, mark_alive
from orchestration.config.clock import MINUTE_MS, minute_name, now_ms, start_of
from orchestration.config.settings import Settings
from orchestration.publish.at_once import published_at_once
from orchestration.publish.edition import Edition
from orchestration.publish.publish import prepare_next, publish
from orchestration.publish.timeline import Timeline
from orchestration.warehouse.access import warehouse_lock
from orchestration.warehouse.arrivals import Arrival, new_arrivals, wait_for_minute
from orchestration.warehouse.dbt_runner.process import prepare_manifest
from orchestration.warehouse.quarantine import attempts
from orchestration.warehouse.transform import OpenWindow, result, windows_to_build
from orchestration.warehouse.windows import MAX_MINUTES, Waiting

MINUTES = "minutes"
# How long after its minute began a run waits for that minute's load, and after which time it starts no further window.
LOAD_WAIT_S, WINDOWS_S = 40.0, 40.0
# Windows of the past are begun in the first half of a minute only, so that they end before the next one's load lands.
# Built by this second, it is served at once; else with the next minute.
PAST_UNTIL_S, SERVED_UNTIL_S = 30, 35
# A window of the past has one load of a backfill, which is as large as this machine builds in time (`Loads`).
PAST_MINUTES = 1
# Models in an edition's metadata.
SLOWEST = 12
# A run that starts so shortly before a minute is that minute's: starting takes as long as building does.
AHEAD_S = 25
IN_PROGRESS = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


def minute_job(settings: Settings, manifest: Mapping[str, Any], partitioned: set[dg.AssetKey]) -> dg.JobDefinition:
    """The minute job; the hours that it built are reported as partitions of the `partitioned` assets."""
    # Both ops run in one process, and Dagster would store what one gives the other.
    runs_published = set[str]()

    def build_waiting(context: dg.OpExecutionContext, stop_after_s: float, which: Waiting) -> list[OpenWindow]:
        done: list[OpenWindow] = []
        with warehouse_lock(settings, "build", report=context.log.info) as lock:
            prepare_manifest(settings, context.log.info)
            most = PAST_MINUTES if which == "past" else MAX_MINUTES
            waiting = windows_to_build(
                settings, max_minutes=most, stop_after_s=stop_after_s, which=which, publish=True,
                run_started_ms=started_ms(context), report=context.log.warning,
            )  # fmt: skip
            for opened in waiting:
                minutes = opened.window.minutes
                context.log.info(f"building {len(minutes)} minutes from {len(opened.window.files)} files")
                for attempt in attempts(settings, opened.idle, lock, context.log.warning, (DagsterDbtError,)):
                    with attempt:
                        for event in fast_dbt.stream(
                            settings, manifest, Translator(), context, opened.arguments, lock, opened.closing
                        ):
                            hours: list[str | None] = [*hours_of(minutes)] if event.asset_key in partitioned else [None]
                            for partition in hours:
                                context.log_event(dg.AssetMaterialization(event.asset_key, partition=partition))
                done.append(opened)
        return done

    def publish_built(context: dg.OpExecutionContext) -> None:
        if metadata := published(settings, context):
            context.log_event(dg.AssetMaterialization(EDITION, metadata=metadata))

    @dg.op(
        pool=MINUTES,
        out=dg.Out(dg.Nothing),
        description="Wait for this minute's load, then build every recorded window that waits: all models, in one dbt "
        "run each.",
    )
    def build_windows(context: dg.OpExecutionContext) -> None:
        mark_alive(settings.dagster_home, context.run_id)
        wait_for_minute(settings.landing, *minute_of_run(now_ms()), context.log.info)
        done = build_waiting(context, WINDOWS_S, "recorded")
        if done and (at_once := published_at_once(done[-1].closed)):
            context.log_event(dg.AssetMaterialization(EDITION, metadata=edition_metadata(*at_once)))
            runs_published.add(context.run_id)
        report_arrivals(context, settings, done)

    @dg.op(
        pool=MINUTES,
        ins={"built": dg.In(dg.Nothing)},
        out=dg.Out(dg.Nothing),
        description="Publish the built tables as a new edition, unless the last window was published when it was "
        "closed.",
    )
    def publish_edition(context: dg.OpExecutionContext) -> None:
        if context.run_id in runs_published:
            runs_published.remove(context.run_id)
            context.log.info("the edition was published when its window was closed")
        else:
            publish_built(context)

    @dg.op(
        pool=MINUTES,
        ins={"published": dg.In(dg.Nothing)},
        description="Build what a backfill has landed: a window, and others if time is left. It is published at once "
        "if the minute is young, else with the next. Its many rows are copied into the replica that nobody reads, and "
        "periods that have ended are put in the readers' order there, so that the next minute's publish need not.",
    )
    def build_past(context: dg.OpExecutionContext) -> None:
        started = started_ms(context) or now_ms()
        built = build_waiting(context, max(0.0, PAST_UNTIL_S - since_minute_s(started, now_ms())), "past")
        if built and since_minute_s(started, now_ms()) < SERVED_UNTIL_S:
            publish_built(context)
        prepare_next(settings, report=context.log.info)

    @dg.job(
        name="minute",
        executor_def=dg.in_process_executor,
        description="Wait for this minute's load, build it, publish a new edition; then the same for the past.",
        tags={"dagster/max_runtime": 3600, "dagster/priority": 10},
    )
    def minute() -> None:
        build_past(publish_edition(build_windows()))

    return minute


def minute_of_run(at_ms: int) -> tuple[int, float]:
    """The minute whose load a run that starts now waits for, and the longest wait in seconds."""
    minute_ms = start_of(at_ms)
    if is_ahead(at_ms):
        minute_ms += MINUTE_MS
    return minute_ms, (minute_ms - at_ms) / 1000 + LOAD_WAIT_S


def since_minute_s(run_started_ms: float, at_ms: float) -> float:
    """Seconds since the minute of a run began."""
    minute_ms, _ = minute_of_run(int(run_started_ms))
    return (at_ms - minute_ms) / 1000


def started_ms(context: dg.OpExecutionContext | dg.AssetExecutionContext) -> float | None:
    """When this run was started, UTC epoch ms; None if Dagster has not noted it."""
    record = context.instance.get_run_record_by_id(context.run_id)
    return record.start_time * 1000 if record and record.start_time else None


def is_ahead(at_ms: int) -> bool:
    """Whether the next minute is so near that a run started now belongs to it."""
    return at_ms % MINUTE_MS >= MINUTE_MS - AHEAD_S * 1000


def report_arrivals(context: dg.OpExecutionContext, settings: Settings, done: Sequence[OpenWindow]) -> None:
    """Report the landing's newest load, its delay, its rows per venue and the loads that still wait."""
    arrival: Arrival = new_arrivals(settings.landing, [opened.window for opened in done])
    built = result(list(done))
    metadata: dict[str, Any] = {
        "newest load": arrival.load_id or "none",
        "lag (s)": arrival.lag_s,
        "loads built": built.loads if built else 0,
        "minutes built": built.minutes if built else 0,
        **{f"rows of {venue}": rows for venue, rows in arrival.rows.items()},
    }
    metadata = {name: value for name, value in metadata.items() if value is not None}
    context.log_event(dg.AssetObservation(LANDING, metadata=metadata))
    if built:
        # Dagster's freshness counts materializations: report the landing once per run.
        context.log_event(dg.AssetMaterialization(LANDING, metadata=metadata))


def published(settings: Settings, context: dg.OpExecutionContext | dg.AssetExecutionContext) -> dict[str, Any]:
    """Publish, and return the edition's metadata for Dagster; empty if the served edition is up to date."""
    timelines = list[Timeline]()
    edition = publish(
        settings, in_order=False, run_started_ms=started_ms(context), take_timeline=timelines.append,
        report=context.log.info,
    )  # fmt: skip
    return {} if edition is None else edition_metadata(edition, timelines[0])


def edition_metadata(edition: Edition, timeline: Timeline) -> dict[str, Any]:
    """An edition's metadata for Dagster."""
    lag_s = (edition.published_ms - edition.as_of_ms) / 1000
    return {
        "edition": edition.edition_id,
        "minute": minute_name(edition.as_of_ms),
        "replica": edition.replica,
        "data age at publish (s)": lag_s,
        "timeline": dg.MetadataValue.md(as_markdown(timeline)),
        **{f"{name} (s after the minute)": seconds for name, seconds in timeline.seconds().items()},
    }


def as_markdown(timeline: Timeline) -> str:
    """The steps of an edition in seconds after its minute began, and the models that took longest."""
    steps = [f"| {name.replace('_', ' ')} | {seconds:.1f} |" for name, seconds in timeline.seconds().items()]
    slowest = sorted(timeline.models, key=lambda model: -model[1])[:SLOWEST]
    models = [f"| {name} | {seconds:.2f} |" for name, seconds in slowest]
    return "\n".join(
        ["| step | s after the minute |", "| --- | --- |", *steps, "", "| model | s |", "| --- | --- |", *models]
    )


def minute_sensor(settings: Settings, job: dg.JobDefinition) -> dg.SensorDefinition:
    """The sensor that starts the job once a minute."""

    @dg.sensor(
        job=job,
        minimum_interval_seconds=5,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Starts each minute's run {AHEAD_S} seconds or less before the minute begins, so that the run "
        "is ready when the minute's load is committed (a schedule has whole minutes only). While the run before is at "
        "work it waits in the queue. One run at a time: where that takes a whole minute longer, the next one builds "
        "both minutes.",
    )
    def every_minute(context: dg.SensorEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        for ended in end_dead_runs(context.instance, settings.dagster_home):
            context.log.warning(f"run {ended} is marked as failed: its process is gone")
        unfinished = len(context.instance.get_runs(dg.RunsFilter(job_name=job.name, statuses=IN_PROGRESS), limit=2))
        minute_ms, _ = minute_of_run(now_ms())
        if unfinished > 1 or (unfinished and not is_ahead(now_ms())):
            return dg.SkipReason("the run of an earlier minute is not finished")
        if context.cursor == str(minute_ms):
            return dg.SkipReason(f"the run of {minute_name(minute_ms)} was started")
        context.update_cursor(str(minute_ms))
        return dg.RunRequest()

    return every_minute
