"""The supervisor on real processes: restart with a growing pause, reasons in the log, no process left behind."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from orchestration.supervise import supervisor
from orchestration.supervise.supervisor import Command, Pace, Supervisor
from tests.support.processes import FORK, PARENT, QUICK, SLEEPER, lives, python, until, words

STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
)


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


async def test_the_pause_starts_again_after_a_steady_run(tmp_path: Path) -> None:
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
