"""File locks between processes (`flock`): one is held as long as any process has its descriptor open, however it ends.

Not the `filelock` library: its descriptors cannot be handed to child processes, and a dbt whose parent was killed must
still count as the writer.
"""

import fcntl
import os
from pathlib import Path


def take(path: Path, note: str = "") -> int | None:
    """Take a lock unless another process has it: the descriptor that holds it. `note` says who has it, for others."""
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
    """What the last holder of a lock noted; empty if it noted nothing."""
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        return ""
