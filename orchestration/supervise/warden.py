"""The warden: a small process that stops the supervisor's processes if the supervisor itself is killed.

It runs in its own session and reads lines `+<pid>` and `-<pid>` from a pipe: process groups to add and to remove. The
pipe closes when the supervisor is gone, whatever killed it; the groups still listed are then stopped. Unlike a
parent-death signal, this also reaches grandchildren (a dbt run of Dagster's) and works on every Unix.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path

GRACE_S = 15.0


def group_lives(group: int) -> bool:
    """Whether a process of this group still runs; zombies do not count."""
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    stats: list[Path] = []
    with contextlib.suppress(OSError):  # too many open files: the same as without /proc
        stats = list(Path("/proc").glob("[0-9]*/stat"))
    if not stats:
        return True
    for stat in stats:
        with contextlib.suppress(OSError):
            state, _parent, in_group = stat.read_text().rpartition(")")[2].split()[:3]
            if int(in_group) == group and state not in "ZX":
                return True
    return False


def signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def end_groups(groups: Iterable[int]) -> None:
    """Send SIGTERM to all groups, and SIGKILL to those that still run after the grace period."""
    left = [group for group in groups if group_lives(group)]
    for group in left:
        signal_group(group, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_S
    while left and time.monotonic() < deadline:
        time.sleep(0.1)
        left = [group for group in left if group_lives(group)]
    for group in left:
        signal_group(group, signal.SIGKILL)


def main() -> None:
    """Read the pipe on standard input until it closes, then stop the listed groups."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    end_groups(groups)


if __name__ == "__main__":
    main()
