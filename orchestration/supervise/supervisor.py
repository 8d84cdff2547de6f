"""Runs processes: starts and logs them, restarts crashed ones after growing pauses, and stops all of them.

It knows nothing about what the processes do; `product.py` lists the processes of the product.
"""

import asyncio
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from orchestration.config.logs import message_of
from orchestration.supervise import warden

ROTATE_BYTES = 10_000_000
ROTATED_KEPT = 3
LOOK_S = 60.0
TAIL_LINES = 5
COLOUR = re.compile(r"\x1b\[[\d;]*m")


@dataclass(frozen=True)
class Command:
    """One process to run; `env` is added to the supervisor's own environment."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None


@dataclass(frozen=True)
class Outcome:
    """How a process ended: `code` is negative for a signal, `tail` has its last lines of output.

    Without a code the system refused to start it, and `tail` says why.
    """

    code: int | None
    tail: tuple[str, ...]

    @property
    def reason(self) -> str:
        if self.code is None:
            return "refused by the system"
        if self.code >= 0:
            return f"exit code {self.code}"
        try:
            return f"killed by {signal.Signals(-self.code).name}"
        except ValueError:
            return f"killed by signal {-self.code}"


@dataclass(frozen=True)
class Pace:
    """Pauses between restarts, in seconds: doubling from `first` to `longest`, and back to `first` after a run of
    `steady` seconds."""

    first: float = 1.0
    longest: float = 60.0
    steady: float = 60.0
    grace: float = 15.0


class Supervisor:
    """Runs commands; use as an async context manager, so that the warden ends with it."""

    def __init__(
        self, logs: Path, report: Callable[[str], None], pace: Pace | None = None, keep_open: tuple[int, ...] = ()
    ) -> None:
        """`keep_open`: file descriptors (locks) that the warden holds until the last process has ended."""
        self.logs = logs
        self.report = report
        self.pace = pace or Pace()
        self.hurry = False
        self._keep_open = keep_open
        self._warden: subprocess.Popen[str] | None = None

    async def __aenter__(self) -> "Supervisor":
        self._warden = start_warden(self._keep_open)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._warden and self._warden.stdin:
            self._warden.stdin.close()
            await asyncio.to_thread(self._warden.wait)

    async def keep(self, command: Command) -> None:
        """Run a command for ever: whenever it ends, log the reason and restart it after a pause."""
        pause = self.pace.first
        while True:
            started = time.monotonic()
            outcome = await self.run(command)
            if time.monotonic() - started >= self.pace.steady:
                pause = self.pace.first
            self.report(f"{command.name} stopped ({outcome.reason}); it starts again in {pause:g} s")
            for line in outcome.tail:
                self.report(f"    {command.name}: {line}")
            await asyncio.sleep(pause)
            pause = min(pause * 2, self.pace.longest)

    async def run(self, command: Command) -> Outcome:
        """Run a command once, until it ends; on cancellation its whole process group is stopped."""
        path = self.logs / f"{command.name}.log"
        try:
            with open_log(path) as log:
                begin = log.tell()
                process = await asyncio.create_subprocess_exec(
                    *command.argv,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    env={**os.environ, **command.env},
                    cwd=command.cwd,
                )
        except OSError as error:
            # Memory, processes or disk space that are exhausted now may be available later: report it as an outcome.
            return Outcome(None, (str(error),))
        self._notify_warden("+", process.pid)
        try:
            code = await process.wait()
        finally:
            await self._end_group(process.pid)
            self._notify_warden("-", process.pid)
        return Outcome(code, tail(path, begin))

    async def keep_logs_short(self) -> None:
        """Rotate long logs; checks once a minute."""
        while True:
            with contextlib.suppress(OSError):
                for path in self.logs.glob("*.log"):
                    await asyncio.to_thread(rotate, path)
            await asyncio.sleep(LOOK_S)

    async def _end_group(self, group: int) -> None:
        """Stop the remaining processes of a group: SIGTERM, then SIGKILL after the grace period."""
        if not warden.group_lives(group):
            return
        warden.signal_group(group, signal.SIGTERM)
        deadline = time.monotonic() + self.pace.grace
        while warden.group_lives(group):
            if self.hurry or time.monotonic() > deadline:
                warden.signal_group(group, signal.SIGKILL)
            await asyncio.sleep(0.05)

    def _notify_warden(self, sign: str, pid: int) -> None:
        if self._warden and self._warden.stdin:
            try:
                self._warden.stdin.write(f"{sign}{pid}\n")
            except BrokenPipeError:
                self._warden = None
                self.report("the warden is gone: processes will outlive this one if it is killed with SIGKILL")


def start_warden(keep_open: tuple[int, ...]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-I", "-S", warden.__file__],
        stdin=subprocess.PIPE,
        text=True,
        bufsize=1,
        start_new_session=True,
        pass_fds=keep_open,
    )


def open_log(path: Path) -> IO[bytes]:
    """Open the log file for appending; a long one is rotated first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rotate(path)
    return path.open("ab")


def rotate(path: Path) -> None:
    """Copy a long log to `<name>.log.1` and truncate it in place, because a process may be writing it.

    If that fails the log stays long, which is better than not running the process.
    """
    with contextlib.suppress(OSError):
        if path.stat().st_size <= ROTATE_BYTES:
            return
        # Copy first: on a full disk the copy fails repeatedly, and must not delete the logs that are kept.
        shutil.copyfile(path, path.with_name(f"{path.name}.0"))
        for number in range(ROTATED_KEPT - 1, -1, -1):
            older = path.with_name(f"{path.name}.{number}")
            if older.exists():
                older.replace(path.with_name(f"{path.name}.{number + 1}"))
        os.truncate(path, 0)


def tail(path: Path, begin: int) -> tuple[str, ...]:
    """The last lines of a log after the position `begin`; empty if the log was removed."""
    try:
        with path.open("rb") as log:
            size = path.stat().st_size
            log.seek(max(begin if begin <= size else 0, size - 8_000))
            lines = log.read().decode(errors="replace").splitlines()
    except OSError:
        return ()
    return tuple(message_of(COLOUR.sub("", line).rstrip()) for line in lines if line.strip())[-TAIL_LINES:]
