"""The parts of dagster-dbt that `fast_dbt` relies on: an upgrade that changes them fails here first."""

import json
import subprocess
import sys
from pathlib import Path

import dagster as dg
from dagster_dbt import DbtCliInvocation
from packaging.version import Version

from orchestration.code_location.models import Translator

NODE = {"unique_id": "model.p.m", "resource_type": "model", "name": "m", "fqn": ["p", "marts", "live", "m"]}
LINE = {
    "info": {"name": "LogModelResult", "level": "info", "msg": "made", "invocation_id": "1"},
    "data": {
        "status": "OK",
        "node_info": {
            "unique_id": "model.p.m", "resource_type": "model", "node_status": "success",
            "node_started_at": "2026-11-22T10:00:00", "node_finished_at": "2026-11-22T10:00:01",
        },
    },
}  # fmt: skip


def test_an_invocation_takes_a_process_and_makes_events_of_its_log(tmp_path: Path) -> None:
    command = [sys.executable, "-c", f"print({json.dumps(LINE)!r})"]
    node = {
        **NODE,
        "config": {"materialized": "view"},
        "meta": {},
        "depends_on": {"nodes": []},
        "database": "w",
        "schema": "main",
        "alias": "m",
    }
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        invocation = DbtCliInvocation(
            process=process,
            manifest={"nodes": {"model.p.m": node}, "sources": {}, "metadata": {}},
            dagster_dbt_translator=Translator(),
            project_dir=tmp_path,
            target_path=tmp_path,
            raise_on_error=True,
            cli_version=Version("1.11.16"),
            context=None,
        )
        [made] = invocation.stream()
    assert isinstance(made, dg.AssetMaterialization)
    assert made.asset_key == dg.AssetKey("m")
