"""Long work beside the running product: the minute's own build comes first."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# A session's niceness, as proc(5) has it: `/autogroup-25 nice 0`. It is read and written as text.
SESSION = Path("/proc/self/autogroup")
# A tenth of a CPU that others want too: it may hold the lock of the warehouse, for which the minute waits. With 19 (a
# 70th) a rebuild beside two busy sessions did not end.
NICE = 10


@contextmanager
def behind_the_minute() -> Iterator[None]:
    """Leave the CPU to the minute's processes while the block runs: for this process, its children, and, where the
    kernel shares the CPU by sessions before it looks at processes (Linux, autogroups), for its session. That of a shell
    gets its own back after the block, also if SIGTERM ends it. One that is nice already was made so by another such
    command, which gives it back."""
    os.nice(NICE)
    before = None
    with suppress(OSError, IndexError):  # it is empty where a control group shares the CPU
        found = SESSION.read_text().split()[-1]
        if found != str(NICE):
            SESSION.write_text(str(NICE))
            before = found
    ending = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, ending)
        if before is not None:
            with suppress(OSError):
                SESSION.write_text(before)
