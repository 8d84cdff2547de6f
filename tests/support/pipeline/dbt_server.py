"""What the processes of the dbt that is kept ready do: its runs, those that ended, who holds a lock."""

import fcntl
import subprocess
import time
from collections.abc import Callable
from pathlib import Path


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
