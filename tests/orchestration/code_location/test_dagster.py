"""Dagster's definitions: they load, show the way from venue to served table, and their jobs do the pipeline's work."""

import importlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import dagster as dg
import duckdb
import pytest
import yaml

from ingest.venues import VENUES
from orchestration.cli.status import read_status
from orchestration.code_location import minute
from orchestration.config.settings import REPOSITORY, Settings
from orchestration.publish.publish import publish
from orchestration.quality.suites import checks_of
from tests.support.pipeline.dbt_project import give_dbt, give_parsed
from tests.support.pipeline.pipeline_home import MINUTE, land_minutes, settings_for, tables
from tests.support.pipeline.warehouse import give_built


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    settings = settings_for(tmp_path_factory.mktemp("dagster_home"))
    give_dbt(settings)
    give_built(settings)
    return settings


@pytest.fixture(scope="module")
def definitions(settings: Settings) -> Iterator[ModuleType]:
    """The definitions of this home, as a code server loads them."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.environ().items():
            patch.setenv(name, value)
        yield importlib.reload(importlib.import_module("orchestration.code_location.definitions"))


@pytest.fixture
def instance(settings: Settings) -> Iterator[dg.DagsterInstance]:
    """An instance with the committed configuration."""
    settings.dagster_home.mkdir(parents=True, exist_ok=True)
    shutil.copy(REPOSITORY / "orchestration/code_location/dagster.yaml", settings.dagster_home)
    with dg.DagsterInstance.from_config(str(settings.dagster_home)) as made:
        yield made


def graph(definitions: ModuleType) -> Any:
    return definitions.defs.resolve_asset_graph()


def test_the_lineage_leads_from_every_venue_to_the_served_edition(definitions: ModuleType) -> None:
    assets = graph(definitions)
    above, waiting = set[dg.AssetKey](), [dg.AssetKey(["serving", "edition"])]
    while waiting:
        parents = assets.get(waiting.pop()).parent_keys - above
        above |= parents
        waiting += parents
    assert {dg.AssetKey(["venue", venue.name]) for venue in VENUES} <= above
    assert {dg.AssetKey(["landing", "responses"]), dg.AssetKey("raw_window"), dg.AssetKey("series_base_1d")} <= above


def test_every_asset_explains_itself(definitions: ModuleType) -> None:
    assets = graph(definitions)
    groups = {assets.get(key).group_name for key in assets.get_all_asset_keys()}
    assert groups == {
        "venues", "landing", "reference_data", "staging", "intermediate", "marts_series", "marts_gaps", "marts_live",
        "marts_quality", "marts_spikes", "marts_depth", "marts_venues", "marts_listings", "marts_premiums",
        "marts_wallets", "marts_funding", "marts_indices", "marts_options", "marts_risk",
        "serving", "api_routes", "mcp_tools", "metrics", "data_quality",
    }  # fmt: skip
    assert [key for key in assets.get_all_asset_keys() if not assets.get(key).description] == []


def test_schedules_run_by_default_and_the_landing_has_a_freshness_policy(definitions: ModuleType) -> None:
    repository = definitions.defs.get_repository_def()
    assert {
        (schedule.name, schedule.cron_schedule, schedule.default_status.value) for schedule in repository.schedule_defs
    } == {
        ("every_hour", "7 * * * *", "RUNNING"),
        ("every_day", "37 3 * * *", "RUNNING"),
        ("quality_hourly_schedule", "17 * * * *", "RUNNING"),
        ("quality_daily_schedule", "47 4 * * *", "RUNNING"),
    }
    assert [(sensor.name, sensor.default_status.value) for sensor in repository.sensor_defs] == [
        ("every_minute", "RUNNING")
    ]
    landing = graph(definitions).get(dg.AssetKey(["landing", "responses"]))
    assert landing.freshness_policy is not None


def test_nothing_keeps_a_minutes_run_waiting(definitions: ModuleType, instance: dg.DagsterInstance) -> None:
    """Minutes, upkeep and the fetching of history are pools of one place each, which may all be taken at once."""
    jobs = {"minute": "minutes", "hourly": "upkeep", "daily": "upkeep", "quality_hourly": "upkeep"}
    for name, pool in jobs.items():
        nodes = definitions.defs.resolve_job_def(name).nodes
        assert {node.definition.pool for node in nodes} - {None} == {pool}, name
    assert definitions.defs.get_assets_def(["landing", "history"]).op.pool == "history"
    config = yaml.safe_load((REPOSITORY / "orchestration/code_location/dagster.yaml").read_text())
    assert config["concurrency"]["pools"] == {"default_limit": 1, "granularity": "run"}
    assert config["concurrency"]["runs"]["max_concurrent_runs"] > 3
    assert config["telemetry"] == {"enabled": False}
    assert instance.get_concurrency_config().pool_config.default_pool_limit == 1


def test_dagster_dev_loads_the_workspace_of_a_fresh_clone(tmp_path: Path) -> None:
    """As `dagster dev -w workspace.yaml` does: from the repository's folder, no home there yet, dbt not on the PATH."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("TIDEMARK_", "DBT_"))}
    env |= {"TIDEMARK_HOME": str(tmp_path / "data"), "DAGSTER_HOME": str(tmp_path), "PATH": os.defpath}
    give_parsed(settings_for(tmp_path / "data"))
    command = [str(Path(sys.executable).parent / "dagster"), "definitions", "validate", "-w", "workspace.yaml"]
    run = subprocess.run(command, env=env, cwd=REPOSITORY, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "All code locations passed validation" in run.stdout + run.stderr


def test_a_run_is_begun_shortly_before_its_minute_and_one_at_a_time(
    definitions: ModuleType, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def evaluated() -> dg.RunRequest | dg.SkipReason:
        with dg.build_sensor_context(instance=instance) as context:
            return definitions.every_minute(context)  # type: ignore[no-any-return]

    at = 1_800_000_000_000
    assert [minute.is_ahead(at + 1000 * second) for second in (0, 34, 35, 59)] == [False, False, True, True]
    monkeypatch.setattr(minute, "is_ahead", lambda _: False)
    assert isinstance(evaluated(), dg.SkipReason)
    monkeypatch.setattr(minute, "is_ahead", lambda _: True)
    assert isinstance(evaluated(), dg.RunRequest)
    run = instance.create_run_for_job(definitions.defs.resolve_job_def("minute"), status=dg.DagsterRunStatus.STARTED)
    assert isinstance(evaluated(), dg.SkipReason)
    instance.report_run_failed(run)
    assert isinstance(evaluated(), dg.RunRequest)


def test_minute_hour_and_day(
    definitions: ModuleType, settings: Settings, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The three jobs on a real landing: build and publish, then every dbt test and the docs, then the upkeep."""
    now = time.time_ns() // 1_000_000
    newest = now - now % MINUTE
    # A run would wait for the load of the minute in which it starts: here these all are of the newest one that landed.
    monkeypatch.setattr(minute, "now_ms", lambda: newest + 5_000)
    land_minutes(settings, [newest - MINUTE, newest])

    built = execute(definitions, instance, "minute")
    observed = instance.fetch_observations(dg.AssetKey(["landing", "responses"]), limit=1).records
    metadata = observed[0].asset_observation.metadata if observed and observed[0].asset_observation else {}
    assert (metadata["minutes built"].value, metadata["loads built"].value, metadata["rows of binance"].value) == (
        2,
        2,
        16,
    )
    assert {key.to_user_string() for key in materialized(built)} >= {"raw_window", "series_base_1d", "serving/edition"}
    hour = {f"{datetime.fromtimestamp(tick / 1000, UTC):%Y-%m-%d-%H:00}" for tick in (newest - MINUTE, newest)}
    assert instance.get_materialized_partitions(dg.AssetKey("series_base_1d")) == hour
    replica = settings.serving / "replica_a.duckdb"
    served = ("series_market_1m", "series_base_1h", "markets", "gaps")
    assert tables(str(replica), served) == tables(settings.warehouse, served)
    assert len(tables(str(replica), served)["markets"]) == 3

    hourly = execute(definitions, instance, "hourly")
    checks = hourly.get_asset_check_evaluations()
    assert len(checks) > 20
    assert [check.check_name for check in checks if not check.passed] == []
    # A test over several tables names the one it is a check of; without a name it would be no check.
    assert {"recorder_is_alive", "mart_tiers_agree", "mart_markets_match_series"} <= {c.check_name for c in checks}
    assert (settings.docs / "index.html").exists()

    # The hourly quality checks, on a served table with a fault in it.
    with duckdb.connect(str(replica)) as con:
        con.execute("update series_market_1m set price = -1 where market_id = 'binance:perp:ETHUSDT'")
    evaluated = execute(definitions, instance, "quality_hourly").get_asset_check_evaluations()
    quality = {check.check_name: check for check in evaluated}
    assert set(quality) == {check.name for check in checks_of("hourly")}
    wrong = quality["minutes_in_range"]
    assert not wrong.passed
    assert wrong.description
    assert wrong.description.startswith("binance:perp:ETHUSDT: price -1.0 (expected: > 0)")
    assert wrong.metadata["venues"].value == "binance"
    page = str(wrong.metadata["report"].value).partition("/quality/")[2]
    assert "binance:perp:ETHUSDT" in (settings.quality_docs / page).read_text()
    publish(settings, force=True, report=lambda _: None)
    marked = read_status(settings)["suspects"]
    assert [(row["venue"], row["rows"]) for row in marked if row["check"] == "minutes_in_range"] == [("binance", 1)]

    assert execute(definitions, instance, "daily").success
    with duckdb.connect(settings.warehouse, read_only=True) as con:
        assert con.execute("select count(*) from pipeline.builds").fetchone() == (1,)

    # A minute that holds nothing for some of the published tables is an edition all the same.
    land_minutes(settings, [newest + MINUTE])
    edition = read_status(settings)["edition"]
    later = execute(definitions, instance, "minute")
    assert {"market_movers", "serving/edition"} <= {key.to_user_string() for key in materialized(later)}
    assert read_status(settings)["edition"] > edition


def test_the_code_server_does_not_import_great_expectations(settings: Settings, definitions: ModuleType) -> None:
    code = (
        "import sys, orchestration.code_location.definitions\n"
        "print([name for name in ('great_expectations', 'pandas') if name in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **settings.environ()}, cwd=REPOSITORY, capture_output=True,
        text=True, timeout=300,
    )  # fmt: skip
    assert run.stdout.strip() == "[]", run.stderr


def execute(definitions: ModuleType, instance: dg.DagsterInstance, job: str) -> dg.ExecuteInProcessResult:
    result = definitions.defs.resolve_job_def(job).execute_in_process(instance=instance, raise_on_error=True)
    assert result.success
    return result  # type: ignore[no-any-return]


def materialized(result: dg.ExecuteInProcessResult) -> set[dg.AssetKey]:
    return {
        event.asset_key
        for event in result.all_events
        if event.event_type_value == "ASSET_MATERIALIZATION" and event.asset_key
    }


def test_the_manifest_is_made_once(definitions: ModuleType, settings: Settings) -> None:
    from orchestration.warehouse.dbt_runner.process import prepare_manifest

    said: list[str] = []
    manifest = prepare_manifest(settings, said.append)
    assert said == []
    assert manifest == Path(settings.dbt_target) / "manifest.json"
