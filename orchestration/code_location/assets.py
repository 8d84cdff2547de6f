"""What Dagster shows from venue to served table: venues, landing, every dbt model, the served edition, the docs.

The work itself is in `transform`, `publish` and `dbt_docs`; this file puts it into Dagster's words.
"""

import json
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import dagster as dg
from dagster_dbt import DagsterDbtTranslator, DbtCliInvocation, dbt_assets
from dagster_dbt.errors import DagsterDbtError
from packaging.version import Version

from ingest.venues import VENUES
from orchestration.code_location.upkeep import mark_alive
from orchestration.config.settings import Settings
from orchestration.publish.publish import publish
from orchestration.warehouse.arrivals import Arrival, new_arrivals, wait_for_minute
from orchestration.warehouse.dbt_runner.docs import make_docs
from orchestration.warehouse.dbt_runner.process import dbt_version, prepare_manifest, start_dbt
from orchestration.warehouse.served import read_served
from orchestration.warehouse.transform import OpenWindow, result, windows_to_build
from orchestration.warehouse.writer import POLL_S, writer_lock

# Pools have one place each. What opens the warehouse takes the writer lock, and between the minutes for moments only,
# so that upkeep (tests, docs, the daily job) goes on beside them; fetching history takes hours.
MINUTES, UPKEEP, FETCHING = "minutes", "upkeep", "history"
LANDING = dg.AssetKey(["landing", "responses"])
HISTORY = dg.AssetKey(["landing", "history"])
BUILT = "tidemark/built"
# How long after its minute began a run waits for that minute's load, and after which time it starts no further window.
LOAD_WAIT_S, WINDOWS_S = 40.0, 40.0
# A run that starts so shortly before a minute is that minute's: starting takes as long as building does.
AHEAD_S = 25
# So many dbt tests at once; then the lock is given up for a moment, which a build that waits for it takes.
TESTS_AT_ONCE, TESTS_WAIT_S = 10, 600.0


class Translator(DagsterDbtTranslator):
    """dbt models under their bare names, grouped by layer and, in the marts, by subject."""

    def get_group_name(self, dbt_resource_props: Mapping[str, Any]) -> str:
        folders: Sequence[str] = dbt_resource_props["fqn"][1:-1]
        if dbt_resource_props["resource_type"] == "seed":
            return "reference_data"
        if folders[0] == "marts":
            return "_".join(folders[:2])
        return folders[0]

    def get_tags(self, dbt_resource_props: Mapping[str, Any]) -> Mapping[str, str]:
        """What a minute's run always builds: not views and seeds, which only change with the project, nor what rests
        while nothing of it is recorded. What is built beside that is told all the same, and nothing waits for it."""
        config = dbt_resource_props["config"]
        if config.get("materialized") in ("view_in_place", "seed"):
            return {BUILT: "on_change"}
        return {BUILT: "when_recorded" if config.get("triggers") else "every_minute"}


def source_assets() -> list[dg.AssetSpec]:
    """What others make and Dagster only looks at: the venues, the landing, and the pipeline's own tables."""
    venues = [
        dg.AssetSpec(
            ["venue", venue.name],
            group_name="venues",
            kinds={"api"},
            description=f"The exchange {venue.name}: asked every minute by the recorder for "
            f"{', '.join(sorted({endpoint.name for endpoint in venue.endpoints}))}"
            + (
                f"; listened to for {', '.join(sorted({stream.name for stream in venue.streams}))}."
                * bool(venue.streams)
            ),
        )
        for venue in VENUES
    ]
    landing = dg.AssetSpec(
        LANDING,
        deps=[*(spec.key for spec in venues), HISTORY],
        group_name="landing",
        kinds={"parquet", "dlt"},
        description="Raw responses as the venues sent them, one row per response, written by the recorder (its own "
        "process) as Parquet loads. A load counts once dlt has committed it. Observed by every minute's run.",
        freshness_policy=dg.FreshnessPolicy.time_window(
            fail_window=timedelta(minutes=10), warn_window=timedelta(minutes=3)
        ),
    )
    tables = {
        "window_files": "The landed files that the build under way reads.",
        "window_ticks": "The recorder minutes that the build under way makes.",
        "loads": "Which landed files are built.",
        "builds": "Which minutes each build made and touched: the watermark.",
        "settings": "What the pipeline remembers between builds, by name.",
    }
    pipeline = [
        dg.AssetSpec(["pipeline", name], deps=[LANDING], group_name="landing", kinds={"duckdb"}, description=text)
        for name, text in tables.items()
    ]
    suspects = dg.AssetSpec(
        ["quality", "suspect_rows"],
        deps=[["landing", "responses"], ["series_market_1m"], ["series_market_1h"], ["market_index"]],
        group_name="landing",
        kinds={"duckdb"},
        description="What the data quality checks found suspect, written by them every hour and every day.",
    )
    return [*venues, landing, *pipeline, suspects]


def warehouse_assets(settings: Settings) -> dg.AssetsDefinition:
    """Every dbt model as an asset and every dbt test as a check, run by one step."""
    path = prepare_manifest(settings)
    manifest = json.loads(path.read_text())
    translator = Translator()

    def stream(context: dg.AssetExecutionContext, process: "subprocess.Popen[bytes]") -> Iterator[Any]:
        # Not DbtCliResource.cli: it opens a second dbt inside this process, and its child would not hold our lock.
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
        try:
            yield from invocation.stream()
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()

    @dbt_assets(
        manifest=manifest,
        name="warehouse",
        dagster_dbt_translator=translator,
        exclude="resource_type:unit_test",
    )
    def warehouse(context: dg.AssetExecutionContext) -> Iterator[Any]:
        mark_alive(settings.dagster_home, context.run.run_id)
        if not context.selected_asset_keys:
            failures: list[str] = []
            for names in tests_in_turns(manifest):
                try:
                    with writer_lock(settings.home, "dbt tests", wait_s=TESTS_WAIT_S, say=context.log.info) as lock:
                        yield from stream(context, start_dbt(settings, ["test", "--select", *names], lock=lock))
                except DagsterDbtError as error:
                    failures.append(str(error))
                time.sleep(2 * POLL_S)
            if failures:
                raise dg.Failure("\n\n".join(failures))
            return
        minute_ms, wait_s = _minute_of_run()
        wait_for_minute(settings.landing, minute_ms, wait_s, context.log.info)
        done: list[OpenWindow] = []
        wanted = set(context.op_execution_context.selected_output_names)
        told: set[str] = set()
        with writer_lock(settings.home, "build", say=context.log.info) as lock:
            prepare_manifest(settings, context.log.info)
            for opened in windows_to_build(settings, stop_after_s=WINDOWS_S):
                context.log.info(f"building {len(opened.window.ticks)} minutes from {len(opened.window.files)} files")
                for event in stream(context, start_dbt(settings, opened.arguments, lock=lock)):
                    # Of several windows' outputs Dagster takes one, and none that the job does not name.
                    if isinstance(event, dg.Output):
                        if event.output_name in told:
                            continue
                        told.add(event.output_name)
                        if event.output_name not in wanted:
                            context.log_event(dg.AssetMaterialization(event.output_name))
                            continue
                    yield event
                done.append(opened)
        _tell_arrivals(context, settings, done)

    return warehouse


def tests_in_turns(manifest: Mapping[str, Any]) -> Iterator[list[str]]:
    """The names of all dbt tests, so many at a time as one turn at the warehouse makes."""
    nodes = manifest["nodes"].values()
    names = iter([node["name"] for node in nodes if node["resource_type"] == "test"])
    while some := list(islice(names, TESTS_AT_ONCE)):
        yield some


def _minute_of_run() -> tuple[int, float]:
    """The minute whose load a run that begins now waits for, and how many seconds at most."""
    now = time.time_ns() // 1_000_000
    minute_ms = now - now % 60_000
    if is_ahead(now):
        minute_ms += 60_000
    return minute_ms, (minute_ms - now) / 1000 + LOAD_WAIT_S


def is_ahead(now_ms: int) -> bool:
    """Whether the next minute is so near that a run begun now is its."""
    return now_ms % 60_000 >= 60_000 - AHEAD_S * 1000


def _tell_arrivals(context: dg.AssetExecutionContext, settings: Settings, done: Sequence[OpenWindow]) -> None:
    """Report what the landing brought: its newest load, how late it is, rows per venue, and what still waits."""
    arrival: Arrival = new_arrivals(settings.landing, [opened.window for opened in done])
    built = result(list(done))
    metadata: dict[str, Any] = {
        "newest load": arrival.load_id or "none",
        "lag (s)": arrival.lag_s,
        "loads built": built.loads if built else 0,
        "minutes built": built.ticks if built else 0,
        **{f"rows of {venue}": rows for venue, rows in arrival.rows.items()},
    }
    metadata = {name: value for name, value in metadata.items() if value is not None}
    context.log_event(dg.AssetObservation(LANDING, metadata=metadata))
    if built:
        # Freshness counts materialisations: the landing is one load newer than at the run before.
        context.log_event(dg.AssetMaterialization(LANDING, metadata=metadata))


def _published(settings: Settings) -> list[dg.AssetKey]:
    """The tables that a replica copies."""
    served = read_served(prepare_manifest(settings))
    return [dg.AssetKey(name) for name in served.names if name not in served.views]


def serving_asset(settings: Settings) -> dg.AssetsDefinition:
    """The published edition."""

    @dg.asset(
        key=["serving", "edition"],
        deps=_published(settings),
        group_name="serving",
        pool=MINUTES,
        kinds={"duckdb"},
        description="The served tables: an edition is one consistent state of all marts, copied by differences into "
        "the replica that nobody reads; then the API's pointer is flipped.",
    )
    def edition(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
        published = publish(settings, say=context.log.info)
        if published is None:
            return dg.MaterializeResult(metadata={"unchanged": True})
        lag_s = (published.published_ms - published.as_of_ms) / 1000
        return dg.MaterializeResult(
            metadata={"edition": published.edition_id, "replica": published.replica, "data age at publish (s)": lag_s}
        )

    return edition


def docs_asset(settings: Settings) -> dg.AssetsDefinition:
    """The generated dbt docs."""

    @dg.asset(
        key=["docs", "dbt"],
        deps=_published(settings),
        group_name="serving",
        pool=UPKEEP,
        kinds={"html"},
        description="What every table, column and metric means, generated from the dbt project and the warehouse.",
    )
    def docs(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
        mark_alive(settings.dagster_home, context.run.run_id)
        return dg.MaterializeResult(metadata={"folder": str(make_docs(settings))})

    return docs
