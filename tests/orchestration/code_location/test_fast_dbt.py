"""The parts of dagster-dbt that `fast_dbt` relies on, of which an upgrade that changes them fails here first; and when
a run's events are made."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster_dbt import DbtCliInvocation
from packaging.version import Version

from orchestration.code_location import fast_dbt
from orchestration.code_location.models import Translator
from orchestration.config.settings import Settings

NODE = {
    "unique_id": "model.p.m",
    "resource_type": "model",
    "name": "m",
    "fqn": ["p", "marts", "live", "m"],
    "config": {"materialized": "view"},
    "meta": {},
    "depends_on": {"nodes": []},
    "database": "w",
    "schema": "main",
    "alias": "m",
}
Events = Callable[..., Iterator[Any]]
MANIFEST: dict[str, Any] = {"nodes": {"model.p.m": NODE}, "sources": {}, "metadata": {}}
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
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        invocation = DbtCliInvocation(
            process=process,
            manifest=MANIFEST,
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


def _talking(code: str) -> subprocess.Popen[bytes]:
    """A process that says that a model was made, and then does this."""
    talk = f"import sys; print({json.dumps(LINE)!r}, flush=True); {code}"
    return subprocess.Popen(
        [sys.executable, "-c", talk], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


@pytest.fixture
def events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Events:
    def events(process: subprocess.Popen[bytes], closing: str) -> Iterator[Any]:
        monkeypatch.setattr(fast_dbt, "start_dbt", lambda *_, **__: process)
        settings = Settings.from_env({"TIDEMARK_HOME": str(tmp_path)})
        outside_of_a_run: Any = None
        return fast_dbt.stream(settings, MANIFEST, Translator(), outside_of_a_run, ["build"], 0, closing)

    return events


def test_events_of_a_long_run_are_made_while_it_runs(events: Events) -> None:
    with _talking("sys.stdin.read()") as process:
        made = events(process, closing="")
        assert next(made).asset_key == dg.AssetKey("m")
        assert process.poll() is None
        assert process.stdin
        process.stdin.close()
        assert list(made) == []


def test_events_of_a_minute_are_made_when_its_run_has_ended(events: Events) -> None:
    # More than a pipe holds: it ends only if all of it is read before the first event is made.
    with _talking("print('text ' * 1_000_000)") as process:
        made = events(process, closing="{}")
        assert next(made).asset_key == dg.AssetKey("m")
        assert process.wait(30) == 0
        assert list(made) == []


def test_a_minute_that_fails_has_the_events_of_what_it_made_and_its_error(events: Events) -> None:
    with _talking("sys.exit(1)") as process:
        made = events(process, closing="{}")
        assert next(made).asset_key == dg.AssetKey("m")
        with pytest.raises(Exception, match="exit code `1`"):
            next(made)
