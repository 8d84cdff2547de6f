"""The dbt that is kept ready: same results as a dbt of its own, the same lock, and ends with its caller."""

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestration.config.settings import Settings
from orchestration.warehouse.dbt_runner.process import DbtError, prepare_manifest, run_dbt, start_dbt
from orchestration.warehouse.writer import writer_lock
from tests.support.pipeline.dbt_project import give_parsed


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    # Longer than the path of a socket may be.
    monkeypatch.setenv("TIDEMARK_HOME", str(tmp_path / ("long" * 30)))
    settings = Settings.from_env()
    give_parsed(settings)
    return settings


@pytest.fixture
def server(settings: Settings) -> Iterator[subprocess.Popen[bytes]]:
    prepare_manifest(settings)
    process = subprocess.Popen([sys.executable, "-m", "orchestration.cli", "dbt-server"])
    wait_until((settings.dbt_target.parent / "dbt.sock").exists)
    yield process
    process.terminate()
    process.wait(30)


def wait_until(found: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def runs(server: subprocess.Popen[bytes]) -> list[int]:
    """The forks under way: children with the server's own command line (multiprocessing keeps a helper of its own)."""
    own = Path(f"/proc/{server.pid}/cmdline").read_bytes()
    return [child for child in children(server) if Path(f"/proc/{child}/cmdline").read_bytes() == own]


def zombies(server: subprocess.Popen[bytes]) -> list[int]:
    """Forks that ended and that nobody waited for."""
    return [child for child in children(server) if not Path(f"/proc/{child}/cmdline").read_bytes()]


def children(server: subprocess.Popen[bytes]) -> list[int]:
    text = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text()
    return [int(child) for child in text.split()]


def holders(file: Path) -> bool:
    """Whether somebody holds the lock on a file."""
    with file.open() as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_a_forked_dbt_run_has_the_same_output_as_dbt(settings: Settings, server: subprocess.Popen[bytes]) -> None:
    """Output, failures and their words; the server goes on after a failure."""
    listed = start_dbt(settings, ["ls", "--resource-type", "seed", "--output", "name"])
    output, _ = listed.communicate()
    assert listed.returncode == 0
    assert b"symbols" in output
    assert b"venues" in output
    with pytest.raises(DbtError, match="no_such_command"):
        run_dbt(settings, ["no_such_command"])
    run_dbt(settings, ["seed", "--select", "quotes"])
    assert Path(settings.warehouse).stat().st_size > 0
    assert not Path(f"{settings.warehouse}.wal").exists(), "the warehouse was closed"
    assert server.poll() is None
    wait_until(lambda: not runs(server))
    wait_until(lambda: not zombies(server))


def test_a_run_holds_the_lock_and_ends_with_its_caller(settings: Settings, server: subprocess.Popen[bytes]) -> None:
    lock_file = settings.home / "writer.lock"
    with writer_lock(settings.home, "test") as lock:
        # A run that waits for us: its output is not read, so that it cannot end.
        caller = start_dbt(settings, ["ls", "--output", "json"], lock=lock)
        wait_until(lambda: bool(runs(server)))
        (run,) = runs(server)
        os.kill(run, signal.SIGSTOP)
    assert holders(lock_file), "the run inherits the writer's lock"
    caller.kill()
    os.kill(run, signal.SIGCONT)
    caller.communicate()
    wait_until(lambda: not holders(lock_file))
    wait_until(lambda: run not in runs(server))


def test_a_run_whose_reader_was_killed_ends(settings: Settings, server: subprocess.Popen[bytes]) -> None:
    with writer_lock(settings.home, "test") as lock:
        caller = start_dbt(settings, ["seed"], lock=lock)
        assert caller.stdout
        # From then on it speaks from a thread.
        while b"START seed" not in caller.stdout.readline():
            assert caller.poll() is None
        caller.stdout.close()
    caller.wait(60)
    wait_until(lambda: not holders(settings.home / "writer.lock"))
    wait_until(lambda: not runs(server))


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
    wait_until(lambda: bool(runs(server)))
    for run in runs(server):
        os.kill(run, signal.SIGKILL)
    output, _ = caller.communicate()
    assert caller.returncode != 0
    assert b"dbt ended before its run did" in output
    server.kill()
    server.wait()
    # Its socket is still there, but nobody answers.
    run_dbt(settings, ["ls", "--resource-type", "seed"])
