"""The dbt models, seeds and tests as Dagster assets and checks: a run executes exactly what is selected.

Materializing uses dagster-dbt's `DbtCliResource`. A model whose rows have times is partitioned by the hour: a run
restates the partition from the landing (see `restate`). A model without partitions is built from the newest minute. New
minutes are built by the job `minute`.
"""

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dagster as dg
from dagster_dbt import DagsterDbtTranslator, DbtCliResource, DbtProject, dbt_assets
from dagster_dbt.errors import DagsterDbtError

from orchestration.code_location import fast_dbt
from orchestration.code_location.upkeep import mark_alive
from orchestration.config.clock import HOUR_MS, as_utc, start_of
from orchestration.config.settings import Settings
from orchestration.warehouse.access import warehouse_lock
from orchestration.warehouse.dbt_runner.process import (
    PROJECT,
    dbt_environment,
    dbt_executable,
    prepare_manifest,
)
from orchestration.warehouse.restate import minutes_to_restate, restated_window
from orchestration.warehouse.writer import POLL_S

# Partitions of models. The end offset of one hour includes the current hour.
HOURS = dg.HourlyPartitionsDefinition(start_date="2026-01-01-00:00", end_offset=1)
# dbt's tag of the tables that hold only the current build's window, which the models read.
WINDOW = "tag:window"
# The number of dbt tests in one batch; between batches the lock is released for a moment, so that a waiting build can
# take it.
TESTS_AT_ONCE, LOCK_WAIT_S = 10, 600.0
# The incremental strategies that replace rows by time (`replace_keys` does if it names the time column).
TIMED = {"replace_buckets", "replace_series", "replace_runs", "add_rows"}


def has_times(config: Mapping[str, Any]) -> bool:
    """Whether a model keeps rows of each time, so that a single hour can be restated."""
    return config.get("incremental_strategy") in TIMED or bool(config.get("replace_on"))


class Translator(DagsterDbtTranslator):
    """dbt models under their bare names, grouped by layer and, in the marts, by subject."""

    def get_group_name(self, dbt_resource_props: Mapping[str, Any]) -> str:
        folders: Sequence[str] = dbt_resource_props["fqn"][1:-1]
        if dbt_resource_props["resource_type"] == "seed":
            return "reference_data"
        if folders[0] == "marts":
            return "_".join(folders[:2])
        return folders[0]

    def get_metadata(self, dbt_resource_props: Mapping[str, Any]) -> Mapping[str, Any]:
        metadata = super().get_metadata(dbt_resource_props)
        if _needs_window(dbt_resource_props):
            # Dagster lists no automation for assets that are materialized by a job of ops.
            return {**metadata, "built by": dg.MetadataValue.job("minute", "tidemark")}
        return metadata

    def get_partitions_def(self, dbt_resource_props: Mapping[str, Any]) -> dg.PartitionsDefinition[Any] | None:
        return HOURS if has_times(dbt_resource_props["config"]) else None


class ProjectDbt(DbtCliResource):
    """dagster-dbt's resource with the pipeline's dbt environment: the warehouse and the parsed project."""

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator["ProjectDbt"]:
        before, settings = dict(os.environ), Settings.from_env()
        os.environ.update(dbt_environment(settings, settings.dbt_target))
        try:
            yield self
        finally:
            os.environ.clear()
            os.environ.update(before)


def dbt_resource() -> ProjectDbt:
    """The resource `dbt` of the code location."""
    return ProjectDbt(project_dir=str(PROJECT), dbt_executable=dbt_executable())


def read_manifest(settings: Settings) -> dict[str, Any]:
    """The project's manifest, parsed first if the project has changed."""
    manifest: dict[str, Any] = json.loads(prepare_manifest(settings).read_text())
    return manifest


def model_assets(settings: Settings, manifest: Mapping[str, Any]) -> dg.AssetsDefinition:
    """Every dbt model and seed as an asset, every dbt test as an asset check."""
    translator = Translator()
    timeless = {node["name"] for node in manifest["nodes"].values() if not _needs_window(node)}

    @dbt_assets(
        manifest=manifest,
        project=DbtProject(PROJECT, target_path=settings.dbt_target),
        name="warehouse",
        dagster_dbt_translator=translator,
        exclude="resource_type:unit_test",
    )
    def warehouse(context: dg.AssetExecutionContext, dbt: DbtCliResource) -> Iterator[Any]:
        mark_alive(settings.dagster_home, context.run.run_id)
        build = ["build", "--exclude-resource-type", "test", "unit_test"]
        if context.selected_asset_keys:
            prepare_manifest(settings, context.log.info)
        if {key.path[-1] for key in context.selected_asset_keys} <= timeless:
            if context.selected_asset_keys:
                with warehouse_lock(settings, "dbt build", wait_s=LOCK_WAIT_S, report=context.log.info):
                    yield from _stream(dbt, build, context)
        else:
            yield from _restated(context, dbt, [*build, "--select", WINDOW])
        yield from _tested(context, [key.name for key in context.selected_asset_check_keys])

    def _restated(context: dg.AssetExecutionContext, dbt: DbtCliResource, build: list[str]) -> Iterator[Any]:
        """Build the selected models window by window; their outputs are yielded after the last window."""
        span = _span_of(context)
        outputs: dict[str, Any] = {}
        wanted = set(context.op_execution_context.selected_output_names)
        windows = minutes_to_restate(settings, span, context.log.info)
        if not windows:
            raise dg.Failure(
                f"No minute of {_described(span)} is built, so none can be restated: the job `minute` builds what has "
                "landed, the oldest first.",
                allow_retries=False,
            )
        for number, minutes in enumerate(windows, 1):
            with (
                warehouse_lock(settings, "restatement", wait_s=LOCK_WAIT_S, report=context.log.info),
                restated_window(settings, minutes) as window,
            ):
                context.log.info(f"window {number} of {len(windows)}: {len(window.minutes)} minutes")
                for event in _stream(dbt, build, context):
                    if isinstance(event, dg.Output):
                        outputs[event.output_name] = event
                    else:
                        yield event
            time.sleep(2 * POLL_S)
        yield from (output for name, output in outputs.items() if name in wanted)

    def _tested(context: dg.AssetExecutionContext, names: Iterable[str]) -> Iterator[Any]:
        """Yield the results of dbt tests, run in batches; the writer lock is free between two batches."""
        failures, left = list[str](), set(names)
        for some in in_turns(sorted(left)):
            try:
                with warehouse_lock(settings, "dbt tests", wait_s=LOCK_WAIT_S, report=context.log.info) as lock:
                    arguments = ["test", "--select", *some, "--indirect-selection", "empty"]
                    for event in fast_dbt.stream(settings, manifest, translator, context, arguments, lock):
                        if isinstance(event, dg.AssetCheckResult) and event.check_name in left:
                            left.remove(event.check_name)
                        yield event
            except DagsterDbtError as error:
                failures.append(str(error))
            time.sleep(2 * POLL_S)
        if left and not failures:
            failures = [f"dbt reported no result of {', '.join(sorted(left))}"]
        if failures:
            raise dg.Failure("\n\n".join(failures))

    return warehouse


def hours_of(minutes: Iterable[int]) -> list[str]:
    """The hourly partitions that hold these minutes."""
    hours = sorted({start_of(minute, HOUR_MS) for minute in minutes})
    return [datetime.fromtimestamp(hour / 1000, UTC).strftime(HOURS.fmt) for hour in hours]


def _needs_window(node: Mapping[str, Any]) -> bool:
    """Whether a node reads the window of a build: tables do; views, seeds and tests do not."""
    return bool(node["resource_type"] == "model" and node["config"]["materialized"] not in ("view", "view_in_place"))


def _stream(dbt: DbtCliResource, arguments: Sequence[str], context: dg.AssetExecutionContext) -> Iterator[Any]:
    """Yield the events of a dagster-dbt run of the context's selection, with a temporary target folder."""
    with TemporaryDirectory() as folder:
        yield from dbt.cli(arguments, context=context, target_path=Path(folder)).stream()


def in_turns(names: Iterable[str]) -> Iterator[list[str]]:
    """The names of tests in batches."""
    left = iter(names)
    while some := list(islice(left, TESTS_AT_ONCE)):
        yield some


def _span_of(context: dg.AssetExecutionContext) -> tuple[int, int] | None:
    """The time span of a run's partitions; None means the newest minute."""
    if context.assets_def.partitions_def is None:
        return None
    window = context.partition_time_window
    return int(window.start.timestamp() * 1000), int(window.end.timestamp() * 1000)


def _described(span: tuple[int, int] | None) -> str:
    if span is None:
        return "any hour"
    return " to ".join(as_utc(ms) for ms in span)
