"""Expensive fixtures that are made once per test run: the first worker that needs one makes it, the others read it."""

import atexit
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

# Processes that a test run starts, its workers among them, know its folder by this.
VARIABLE = "TESTS_SHARED_FOLDER"


@cache
def shared_folder() -> Path:
    """The folder of this run, which ends with the process that asked first."""
    if VARIABLE not in os.environ:
        made = TemporaryDirectory()
        atexit.register(made.cleanup)
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
