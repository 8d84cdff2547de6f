"""Real processes for a supervisor to run: one that sleeps, one with a child; and what they wrote."""

import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path

from orchestration.supervise.supervisor import Command, Pace

QUICK = Pace(first=0.05, longest=0.4, steady=60, grace=5)
SLEEPER = "import time, sys; print('up', flush=True); time.sleep(600)"
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
