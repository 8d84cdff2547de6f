"""The warden: it ends the processes of a supervisor that was killed, grandchildren among them."""

import asyncio
import subprocess
import sys
from pathlib import Path

from orchestration.supervise import warden
from tests.support.processes import PARENT, lives, until, words


async def test_a_killed_supervisor_leaves_no_process(tmp_path: Path) -> None:
    script = f"""
import asyncio, sys
from pathlib import Path
from orchestration.supervise.supervisor import Command, Supervisor
async def main():
    async with Supervisor(Path({str(tmp_path)!r}), print) as running:
        await running.keep(Command("parent", (sys.executable, "-c", {PARENT!r})))
asyncio.run(main())
"""
    log = tmp_path / "parent.log"
    killed = await asyncio.create_subprocess_exec(sys.executable, "-c", script)
    try:
        await until(lambda: len(words(log)) == 2)
    finally:
        killed.kill()
        await killed.wait()
    grandchild = int(words(log)[1])
    await until(lambda: not lives(grandchild))


def test_a_group_without_processes_does_not_live() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""], start_new_session=True)
    gone.wait()
    assert not warden.group_lives(gone.pid)
