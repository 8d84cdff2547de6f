"""File locks between processes (`flock`). A lock is held as long as any process has its descriptor open, even after a
crash.

The `filelock` library does not serve here: its descriptors cannot be passed to child processes, and a dbt whose parent
was killed must still count as the writer.

Every lock of orchestration is taken here. The recorder's lock on its folder (`ingest.recorder.state`) and the server's
on the file of keys (`serve.http.keys`) are their own, because those packages import nothing of orchestration or of each
other.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def take(path: Path, note: str = "") -> int | None:
    """Take a lock and return the descriptor that holds it; None if another process has it. `note` names the holder, for
    others to read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, note.encode(), 0)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def note_of(path: Path) -> str:
    """The note that the last holder of a lock wrote; empty if there is none."""
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        return ""


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a lock for the block, after waiting for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
