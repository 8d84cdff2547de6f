"""dbt as a process: the manifest of these files, the models that a window leaves idle, failures in dbt's words."""

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from orchestration.warehouse.dbt_runner import process as dbt_process
from tests.support.pipeline.dbt_project import give_dbt
from tests.support.pipeline.pipeline_home import settings_for


def test_a_manifest_is_of_these_files_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever their times are: the files of a release may be older than the manifest of the one before."""
    settings, project = settings_for(tmp_path / "home"), tmp_path / "project"
    give_dbt(settings)
    manifest = settings.dbt_target / "manifest.json"
    shutil.copytree(dbt_process.PROJECT, project, ignore=shutil.ignore_patterns("target", "logs"))
    monkeypatch.setattr(dbt_process, "PROJECT", project)
    assert dbt_process.is_current(manifest)
    file = project / "macros" / "time.sql"
    before, content = file.stat(), file.read_text()
    file.write_text(content + " ")
    os.utime(file, (before.st_atime, before.st_mtime - 86_400))
    assert not dbt_process.is_current(manifest)
    file.write_text(content)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert dbt_process.is_current(manifest)
    bytecode = project / "models" / "__pycache__" / "int_option_implied.pyc"
    bytecode.parent.mkdir(exist_ok=True)
    bytecode.write_bytes(b"")
    assert dbt_process.is_current(manifest), "an import of a model in Python leaves its bytecode beside it"
    file.unlink()
    assert not dbt_process.is_current(manifest)


def test_models_are_idle_whose_triggers_are_all_missing(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    assert dbt_process.idle_models(settings, ()) == [], "without a manifest every model is run"
    manifest = settings.dbt_target / "manifest.json"

    def parse(**triggers: list[str] | None) -> None:
        nodes = {name: {"name": name, "config": {"triggers": wanted}} for name, wanted in triggers.items()}
        manifest.write_text(json.dumps({"nodes": nodes | {"test": {"name": "test", "config": {}}}}))

    manifest.parent.mkdir(parents=True)
    parse(options=["option_book", "every_1h"], markets=None, statistics=["every_1h"])
    assert dbt_process.idle_models(settings, {"perp_tickers"}) == ["options", "statistics"]
    assert dbt_process.idle_models(settings, {"perp_tickers", "option_book"}) == ["statistics"]
    assert dbt_process.idle_models(settings, {"every_1h"}) == []
    # A project that was parsed again has triggers of its own.
    parse(markets=["perp_tickers"])
    later = time.time() + 10
    os.utime(manifest, (later, later))
    assert dbt_process.idle_models(settings, {"every_1h"}) == ["markets"]


def test_a_failure_has_the_words_of_dbt(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    with pytest.raises(dbt_process.DbtError, match=r"(?s)dbt no_such_command failed with exit code 2.*No such command"):
        dbt_process.run_dbt(settings, ["no_such_command"], target=tmp_path)
