"""dbt as a process: the manifest of these files, the models that a window leaves idle, failures in dbt's words."""

import os
import shutil
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
    file.unlink()
    assert not dbt_process.is_current(manifest)
