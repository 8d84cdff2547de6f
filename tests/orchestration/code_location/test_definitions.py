"""Dagster's definitions: they load, explain themselves, and their schedules and pools keep no minute waiting."""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import dagster as dg
import yaml

from orchestration.config.settings import REPOSITORY, Settings
from tests.support.pipeline.dbt_project import give_parsed
from tests.support.pipeline.pipeline_home import settings_for


def test_every_asset_explains_itself(definitions: ModuleType) -> None:
    assets = definitions.defs.resolve_asset_graph()
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
        ("every_day_bulk", "17 4 * * *", "RUNNING"),
        ("quality_hourly_schedule", "17 * * * *", "RUNNING"),
        ("quality_daily_schedule", "47 4 * * *", "RUNNING"),
    }
    assert [(sensor.name, sensor.default_status.value) for sensor in repository.sensor_defs] == [
        ("days_to_rebuild", "RUNNING"),
        ("every_minute", "RUNNING"),
        ("history_progress", "RUNNING"),
    ]
    landing = definitions.defs.resolve_asset_graph().get(dg.AssetKey(["landing", "responses"]))
    assert landing.freshness_policy is not None


def test_nothing_keeps_a_minutes_run_waiting(definitions: ModuleType, instance: dg.DagsterInstance) -> None:
    """Minutes, upkeep, upgrades, bulk files and the fetching of history are pools of one place each, which may all be
    taken at once."""
    jobs = {
        "minute": "minutes",
        "hourly": "upkeep",
        "daily": "upkeep",
        "quality_hourly": "upkeep",
        "bulk": "bulk",
        "upgrade": "upgrade",
    }
    for name, pool in jobs.items():
        nodes = definitions.defs.resolve_job_def(name).nodes
        assert {node.definition.pool for node in nodes} - {None} == {pool}, name
    assert definitions.defs.get_assets_def(["landing", "history"]).op.pool == "history"
    config = yaml.safe_load((REPOSITORY / "orchestration/code_location/dagster.yaml").read_text())
    assert config["concurrency"]["pools"] == {"default_limit": 1, "granularity": "run"}
    assert config["concurrency"]["runs"]["max_concurrent_runs"] > 5
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


def test_the_manifest_is_made_once(definitions: ModuleType, settings: Settings) -> None:
    from orchestration.warehouse.dbt_runner.process import prepare_manifest

    said: list[str] = []
    manifest = prepare_manifest(settings, said.append)
    assert said == []
    assert manifest == Path(settings.dbt_target) / "manifest.json"
