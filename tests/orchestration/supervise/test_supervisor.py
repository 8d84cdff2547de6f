"""The supervisor on real processes: restart with a growing pause, reasons in the log, no process left behind."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestration.config.settings import Settings
from orchestration.supervise import commands, product, supervisor, warden
from orchestration.supervise.preflight import PreflightError, lock_home
from orchestration.supervise.supervisor import Command, Pace, Supervisor

QUICK = Pace(first=0.05, longest=0.4, steady=60, grace=5)
SLEEPER = "import time, sys; print('up', flush=True); time.sleep(600)"
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
)
# Starts a grandchild and prints its pid.
FORK = (
    "import subprocess, sys, time; "
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); "
    "print('child', child.pid, flush=True); "
)
PARENT = FORK + "time.sleep(600)"


def python(name: str, code: str) -> Command:
    return Command(name, (sys.executable, "-c", code))


async def until(found: Callable[[], object], seconds: float = 30) -> None:
    """Wait for a condition, with a deadline."""
    deadline = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < deadline, "the condition did not come true"
        await asyncio.sleep(0.02)


def words(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def lives(pid: int) -> bool:
    """Whether a process runs; one that is dead and not yet collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


async def test_a_killed_process_is_restarted_and_the_reason_is_logged(tmp_path: Path) -> None:
    said: list[str] = []
    code = f"import os; print('pid', os.getpid(), flush=True); {SLEEPER}"
    log = tmp_path / "sleeper.log"
    async with Supervisor(tmp_path, said.append, QUICK) as running:
        task = asyncio.create_task(running.keep(python("sleeper", code)))
        await until(lambda: "up" in words(log))
        first = int(words(log)[1])
        os.kill(first, signal.SIGKILL)
        await until(lambda: words(log).count("up") == 2)
        second = int(words(log)[4])
        assert lives(second)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert not lives(second)
    assert said[0] == "sleeper stopped (killed by SIGKILL); it starts again in 0.05 s"
    assert f"    sleeper: pid {first}" in said


async def test_a_process_whose_log_was_removed_is_started_again_too(tmp_path: Path) -> None:
    said: list[str] = []
    log, code = tmp_path / "sleeper.log", f"import os; print('pid', os.getpid(), flush=True); {SLEEPER}"
    async with Supervisor(tmp_path, said.append, QUICK) as running:
        task = asyncio.create_task(running.keep(python("sleeper", code)))
        await until(lambda: "up" in words(log))
        first = int(words(log)[1])
        log.unlink()
        os.kill(first, signal.SIGKILL)
        await until(lambda: "up" in words(log) or task.done())
        assert not task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert said == ["sleeper stopped (killed by SIGKILL); it starts again in 0.05 s"]


async def test_the_pause_grows_to_the_longest_one(tmp_path: Path) -> None:
    said: list[str] = []
    async with Supervisor(tmp_path, said.append, QUICK) as running:
        task = asyncio.create_task(running.keep(python("broken", "raise SystemExit('no disk')")))
        await until(lambda: sum("starts again" in line for line in said) >= 5)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    pauses = [line.rpartition(" in ")[2] for line in said if "starts again" in line]
    assert pauses[:5] == ["0.05 s", "0.1 s", "0.2 s", "0.4 s", "0.4 s"]
    assert "broken stopped (exit code 1); it starts again in 0.05 s" in said
    assert "    broken: no disk" in said


async def test_the_pause_starts_anew_after_a_steady_run(tmp_path: Path) -> None:
    said: list[str] = []
    always_steady = Pace(first=0.05, longest=0.4, steady=0)
    async with Supervisor(tmp_path, said.append, always_steady) as running:
        task = asyncio.create_task(running.keep(python("broken", "raise SystemExit(3)")))
        await until(lambda: len(said) >= 3)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert set(said[:3]) == {"broken stopped (exit code 3); it starts again in 0.05 s"}


async def test_a_process_that_cannot_start_is_reported_and_retried(tmp_path: Path) -> None:
    said: list[str] = []
    program, log = tmp_path / "program", tmp_path / "logs" / "sleeper.log"
    log.mkdir(parents=True)
    async with Supervisor(log.parent, said.append, QUICK) as running:
        task = asyncio.create_task(running.keep(Command("sleeper", (str(program), "-c", SLEEPER))))
        await until(lambda: task.done() or "Is a directory" in "".join(said))
        log.rmdir()
        await until(lambda: task.done() or "No such file" in "".join(said))
        program.symlink_to(sys.executable)
        await until(lambda: task.done() or "up" in words(log))
        assert not task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert said[0] == "sleeper stopped (refused by the system); it starts again in 0.05 s"


async def test_a_stop_reaches_grandchildren(tmp_path: Path) -> None:
    async with Supervisor(tmp_path, print, QUICK) as running:
        task = asyncio.create_task(running.run(python("parent", PARENT)))
        await until(lambda: len(words(tmp_path / "parent.log")) == 2)
        grandchild = int(words(tmp_path / "parent.log")[1])
        assert lives(grandchild)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert not lives(grandchild)


async def test_a_crash_does_not_leave_its_children(tmp_path: Path) -> None:
    async with Supervisor(tmp_path, print, QUICK) as running:
        outcome = await running.run(python("parent", FORK + "sys.exit(4)"))
    assert outcome.code == 4
    assert not lives(int(outcome.tail[0].split()[1]))


async def test_a_process_that_ignores_sigterm_is_killed_after_the_grace_period(tmp_path: Path) -> None:
    async with Supervisor(tmp_path, print, Pace(grace=0.2)) as running:
        task = asyncio.create_task(running.run(python("stubborn", STUBBORN)))
        await until(lambda: "up" in words(tmp_path / "stubborn.log"))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert "Traceback" not in (tmp_path / "stubborn.log").read_text()


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


async def test_the_dbt_of_the_builds_is_kept_also_where_nothing_lands_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(product, "FIRST_LOAD_S", 0)
    monkeypatch.setattr(commands, "tidemark", lambda _, name, *words: python(name, SLEEPER))
    lock = lock_home(tmp_path)
    begun = product.Product(Settings.from_env({"TIDEMARK_HOME": str(tmp_path)}), False, lock)
    async with begun.supervisor:
        parse = asyncio.create_task(begun.supervisor.run(python("dbt-parse", "print('parsed')")))
        await begun.first_edition(None, parse)
        assert words(tmp_path / "logs" / "dbt-parse.log") == ["parsed"]
        assert len(begun.tasks) == 1
        await until(lambda: "up" in words(tmp_path / "logs" / "dbt.log"))
        await begun.end(begun.tasks)
    os.close(lock)


def test_a_long_log_is_rotated_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "ROTATE_BYTES", 10)
    path = tmp_path / "process.log"
    for run in range(6):
        with supervisor.open_log(path) as log:
            log.write(f"the lines of run {run}\n".encode())
    kept = {name.name: name.read_text().strip()[-1] for name in tmp_path.iterdir()}
    assert kept == {"process.log": "5", "process.log.1": "4", "process.log.2": "3", "process.log.3": "2"}


async def test_a_log_that_cannot_be_rotated_stays_and_the_others_are_rotated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "ROTATE_BYTES", 10)
    monkeypatch.setattr(supervisor, "LOOK_S", 0.01)
    stuck, other = tmp_path / "stuck.log", tmp_path / "other.log"
    in_the_way = tmp_path / "stuck.log.0"
    in_the_way.mkdir()
    stuck.write_text("a long line\n")
    with supervisor.open_log(stuck) as log:
        log.write(b"more of it\n")
    task = asyncio.create_task(Supervisor(tmp_path, print, QUICK).keep_logs_short())
    other.write_text("a long line\n")
    await until(lambda: task.done() or not other.read_text())
    other.write_text("the next long line\n")
    await until(lambda: task.done() or not other.read_text())
    assert not task.done()
    assert words(tmp_path / "other.log.1") == ["the", "next", "long", "line"]
    assert words(tmp_path / "other.log.2") == ["a", "long", "line"]
    assert stuck.read_text() == "a long line\nmore of it\n"
    in_the_way.rmdir()
    await until(lambda: task.done() or not stuck.read_text())
    assert words(tmp_path / "stuck.log.1") == ["a", "long", "line", "more", "of", "it"]
    task.cancel()


def test_a_group_without_processes_does_not_live() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""], start_new_session=True)
    gone.wait()
    assert not warden.group_lives(gone.pid)
