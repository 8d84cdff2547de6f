"""A faster path beside dagster-dbt's own `DbtCliResource`: dbt runs as a fork of a dbt process that is already started.

Assets that are materialized by hand use `DbtCliResource` (see `models`). This module is for the runs of every minute
and for the project's tests, which run in batches so that no minute waits for all of them. Measured CPU of a run that
builds one view: 9.3 s through `DbtCliResource` (`dbt --version`, dbt's start, its adapter in this process), 0.7 s here.

`DbtCliInvocation`, which turns dbt's log into Dagster events, is exported by dagster-dbt, but its constructor is not
documented: `tests/orchestration/code_location/test_fast_dbt.py` fails first if an upgrade changes it.
"""

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import dagster as dg
from dagster_dbt import DagsterDbtTranslator, DbtCliInvocation
from packaging.version import Version

from orchestration.config.settings import Settings
from orchestration.warehouse.dbt_runner.process import dbt_version, start_dbt


def stream(
    settings: Settings,
    manifest: Mapping[str, Any],
    translator: DagsterDbtTranslator,
    context: dg.AssetExecutionContext | dg.OpExecutionContext,
    arguments: Sequence[str],
    lock: int,
    closing: str = "",
) -> Iterator[Any]:
    """Run dbt, which inherits the writer lock, and yield Dagster events: outputs and check results in an asset,
    materializations in an op. `closing` as in `OpenWindow`."""
    process = start_dbt(settings, arguments, lock=lock, closing=closing)
    try:
        if closing and process.stdout:
            # A minute is built on two cores, of which Dagster's events of its models take a fifth of one: they are
            # made when readers have the edition.
            with process.stdout as log:
                process.stdout = BytesIO(log.read())
        invocation = DbtCliInvocation(
            process=process,
            manifest=manifest,
            dagster_dbt_translator=translator,
            project_dir=Path(settings.dbt_target).parent,
            target_path=settings.dbt_target,
            raise_on_error=True,
            cli_version=Version(dbt_version()),
            context=context,
        )
        yield from invocation.stream()
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
