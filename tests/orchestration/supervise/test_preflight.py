"""What must be right before anything starts: one supervisor of a home, its folders, its ports, one kind of market."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

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
