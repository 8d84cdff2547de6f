"""Runs are forks of a process that has the definitions, and see the dbt project as it is."""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from orchestration.config.settings import REPOSITORY, Settings

STARTED = """
import multiprocessing, sys
from orchestration.code_location.server import fork_spawned

def say(queue):
    queue.put([name in sys.modules for name in ("orchestration.code_location.definitions", "dagster")])

if __name__ == "__main__":
    fork_spawned()
    context = multiprocessing.get_context("spawn")
    for _ in range(2):
        queue = context.Queue()
        process = context.Process(target=say, args=[queue])
        process.start()
        print(queue.get(timeout=240))
        process.join()
    print([name for name in ("orchestration.code_location.definitions", "dagster") if name in sys.modules])
"""
CHANGED = """
import os, sys
from orchestration.code_location import forked

def ours():
    return sum(name.split(".")[0] == "orchestration" for name in sys.modules)

forked.NOTED += sys.argv[1]
if os.fork() == 0:
    print(ours(), flush=True)
    from orchestration.code_location import definitions
    print(definitions.defs.resolve_job_def("minute").name, flush=True)
    os._exit(0)
os.wait()
print(ours() > 10)
"""


def said(settings: Settings, folder: Path, code: str, *words: str) -> list[str]:
    file = folder / "script.py"
    file.write_text(code)
    env = {**os.environ, **settings.environ(), "PYTHONPATH": str(REPOSITORY)}
    run = subprocess.run(
        [sys.executable, file, *words], env=env, cwd=folder, capture_output=True, text=True, timeout=300
    )
    return [*run.stdout.splitlines(), *([run.stderr] if run.returncode else [])]


def test_what_dagster_spawns_has_the_definitions(definitions: ModuleType, settings: Settings, tmp_path: Path) -> None:
    assert said(settings, tmp_path, STARTED) == ["[True, True]", "[True, True]", "[]"]


def test_a_run_imports_them_again_where_the_project_has_changed(
    definitions: ModuleType, settings: Settings, tmp_path: Path
) -> None:
    assert said(settings, tmp_path, CHANGED, "a changed file") == ["0", "minute", "True"]


def test_a_run_has_them_where_nothing_has_changed(definitions: ModuleType, settings: Settings, tmp_path: Path) -> None:
    before, *rest = said(settings, tmp_path, CHANGED, "")
    assert int(before) > 10
    assert rest == ["minute", "True"]
