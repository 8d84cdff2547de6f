"""Upkeep of the running product: old runs and logs go, and runs whose process is gone end."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import dagster as dg

from orchestration.code_location.upkeep import end_dead_runs, mark_alive, prune_runs, remove_old_logs
from tests.support.pipeline.pipeline_home import settings_for


@dg.job
def nothing() -> None:
    """A job without a step."""


def test_old_runs_are_pruned_with_their_logs(tmp_path: Path) -> None:
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        runs = [nothing.execute_in_process(instance=instance).run_id for _ in range(2)]
        (tmp_path / "storage" / runs[0]).mkdir(parents=True, exist_ok=True)
        assert prune_runs(instance, tmp_path) == 0
        assert prune_runs(instance, tmp_path, now=time.time() + 2 * 86_400) == 2
        assert instance.get_runs() == []
        assert not (tmp_path / "storage" / runs[0]).exists()


def test_a_run_whose_process_is_gone_is_ended(tmp_path: Path) -> None:
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        living, dead, starting = (
            instance.create_run_for_job(nothing, status=dg.DagsterRunStatus.STARTED).run_id for _ in range(3)
        )
        mark_alive(tmp_path, living)
        code = "import sys; from pathlib import Path; from orchestration.code_location.upkeep import mark_alive; "
        code += "mark_alive(Path(sys.argv[1]), sys.argv[2])"
        subprocess.run([sys.executable, "-c", code, str(tmp_path), dead], check=True, timeout=60)
        assert end_dead_runs(instance, tmp_path) == [dead]
        run = instance.get_run_by_id(dead)
        assert run is not None
        assert run.status == dg.DagsterRunStatus.FAILURE
        assert end_dead_runs(instance, tmp_path, now=time.time() + 3600) == [starting]


def test_old_logs_are_removed(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    settings.logs.mkdir()
    settings.dbt_logs.mkdir(parents=True)
    old = [settings.logs / "recorder.log.3", settings.dbt_logs / "dbt.log"]
    quiet, new = settings.logs / "server.log", settings.logs / "recorder.log.1"
    for file in (*old, quiet, new):
        file.write_text("a line")
    for file in (*old, quiet):
        os.utime(file, (time.time() - 20 * 86_400,) * 2)
    assert remove_old_logs(settings) == 2
    assert not any(file.exists() for file in old)
    assert quiet.exists(), "its process still has it open"
    assert new.exists()
    shutil.rmtree(settings.logs)
    assert remove_old_logs(settings) == 0
