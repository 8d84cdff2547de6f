"""What must be right before anything starts: one supervisor of a home, its folders, its ports, one kind of market."""

import asyncio
import os
import socket
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from orchestration.config.settings import Settings
from orchestration.supervise import preflight
from orchestration.supervise.preflight import PreflightError, lock_home
from tests.support.processes import lives, until, words


async def test_a_start_after_a_kill_waits_until_the_former_processes_have_ended(tmp_path: Path) -> None:
    slow = "import signal, sys, time; " + "signal.signal(signal.SIGTERM, lambda *_: (time.sleep(1), sys.exit())); "
    slow += "import os; print('pid', os.getpid(), flush=True); time.sleep(600)"
    script = f"""
import asyncio, sys
from pathlib import Path
from orchestration.supervise.preflight import lock_home
from orchestration.supervise.supervisor import Command, Supervisor
async def main():
    home = Path({str(tmp_path)!r})
    async with Supervisor(home, print, keep_open=(lock_home(home),)) as running:
        await running.keep(Command("slow", (sys.executable, "-c", {slow!r})))
asyncio.run(main())
"""
    killed = await asyncio.create_subprocess_exec(sys.executable, "-c", script)
    try:
        await until(lambda: len(words(tmp_path / "slow.log")) == 2)
        with pytest.raises(PreflightError, match=f"already runs on .* .process {killed.pid}"):
            lock_home(tmp_path)
    finally:
        killed.kill()
        await killed.wait()
    lock = await asyncio.to_thread(lock_home, tmp_path)
    assert not lives(int(words(tmp_path / "slow.log")[1]))
    os.close(lock)


def test_a_port_in_use_is_named_with_its_setting(free_port: int) -> None:
    preflight.check_ports({"API": ("127.0.0.1", free_port)})
    with (
        socket.create_server(("127.0.0.1", free_port)),
        pytest.raises(
            PreflightError, match=rf"^Port {free_port} .* already in use; set TIDEMARK_API_PORT to a free one"
        ),
    ):
        preflight.check_ports({"API": ("127.0.0.1", free_port)})


def test_a_foreign_address_is_named_with_its_setting(free_port: int) -> None:
    with pytest.raises(PreflightError, match=r"^192.0.2.7 is no address of this machine; set TIDEMARK_DAGSTER_HOST"):
        preflight.check_ports({"DAGSTER": ("192.0.2.7", free_port)})


def test_simulated_and_real_numbers_never_mix(tmp_path: Path) -> None:
    real = Settings.from_env({"TIDEMARK_HOME": str(tmp_path)})
    simulated = replace(real, venues_url="http://127.0.0.1:9100")
    preflight.check_origin(simulated)
    preflight.check_origin(simulated)
    with pytest.raises(PreflightError, match=r"recordings of simulated exchanges, .* not mix with the real exchanges"):
        preflight.check_origin(real)


def test_a_folder_that_cannot_be_made_is_named_with_its_setting(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for variable in ("TIDEMARK_HOME", "TIDEMARK_LANDING", "TIDEMARK_WAREHOUSE"):
        env = {"TIDEMARK_HOME": str(tmp_path / "home"), variable: str(tmp_path / "file" / "inside" / "w.duckdb")}
        with pytest.raises(PreflightError, match=rf"cannot be written to .*set {variable} to another"):
            preflight.check_folders(Settings.from_env(env))
