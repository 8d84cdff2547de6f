"""What callers run in dbt's place: the dbt that is kept ready, or dbt itself where none is."""

import os
import select
import signal
import subprocess

from orchestration.config.settings import Settings
from orchestration.warehouse.dbt_runner.process import prepare_manifest, run_dbt, start_dbt
from tests.support.pipeline.dbt_server import runs


def test_without_a_server_dbt_runs_itself(settings: Settings) -> None:
    prepare_manifest(settings)
    listed = start_dbt(settings, ["ls", "--resource-type", "seed", "--output", "name"])
    output, _ = listed.communicate()
    assert listed.returncode == 0
    assert b"symbols" in output


def test_a_killed_server_fails_the_run_loudly_and_the_next_one_runs(
    settings: Settings, server: subprocess.Popen[bytes]
) -> None:
    # More than a pipe holds, and nobody reads: the run is there until it is killed.
    caller = start_dbt(settings, ["ls", "--output", "json"])
    # Only what has printed is surely the run: a helper of Python's looks like one while it starts.
    assert caller.stdout is not None
    assert select.select([caller.stdout], [], [], 120)[0]
    for run in runs(server):
        os.kill(run, signal.SIGKILL)
    output, _ = caller.communicate()
    assert caller.returncode != 0
    assert b"dbt ended before its run did" in output
    server.kill()
    server.wait()
    # Its socket is still there, but nobody answers.
    run_dbt(settings, ["ls", "--resource-type", "seed"])
