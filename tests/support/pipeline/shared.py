"""Expensive fixtures that are made once per test run: the first worker that needs one makes it, the others read it."""

import atexit
import fcntl
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

# Processes that a test run starts, its workers among them, know its folder by this.
VARIABLE = "TESTS_SHARED_FOLDER"
RUNNING = ".running"


@cache
def shared_folder() -> Path:
    """The folder of this run, which ends with the process that asked first."""
    if VARIABLE not in os.environ:
        made = TemporaryDirectory()
        atexit.register(made.cleanup)
        atexit.register(_end_processes, Path(made.name))
        os.environ[VARIABLE] = made.name
    return Path(os.environ[VARIABLE])


@contextmanager
def shared(name: str) -> Iterator[Path]:
    """A folder of the run that one process at a time may enter; the first one fills it."""
    folder = shared_folder() / name
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def end_with_run(process: "subprocess.Popen[bytes]") -> None:
    """Let a process that the workers share live until the run ends."""
    (shared_folder() / f"{process.pid}{RUNNING}").touch()


def _end_processes(folder: Path) -> None:
    for file in folder.glob(f"*{RUNNING}"):
        with suppress(ProcessLookupError):
            os.kill(int(file.stem), signal.SIGTERM)
