"""Dagster's code server, whose runs are forks of a process that has imported the definitions:
`python -m orchestration.code_location.server`, with the words of `dagster` after it (`api grpc …`).

Dagster starts a new Python for each run, which imports Dagster and the definitions: its runs took 20 s of CPU a minute,
and take 10 as forks; they begin 1.4 s after they are enqueued, not 6 to 8. It asks Python for processes by `spawn`;
those of `forkserver` are used in the same way, and what they need is imported once.
"""

import multiprocessing
import sys
from importlib.metadata import entry_points
from multiprocessing.context import BaseContext

# Imported by the fork server before its first fork.
IMPORTED = "orchestration.code_location.forked"


def fork_spawned() -> None:
    """Make what this process starts by `spawn` a fork of a process with the definitions."""
    context_of = multiprocessing.get_context

    def context(method: str | None = None) -> BaseContext:
        return context_of("forkserver" if method == "spawn" else method)

    multiprocessing.get_context = context  # type: ignore[assignment]
    multiprocessing.set_forkserver_preload([IMPORTED])


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    fork_spawned()
    [dagster] = entry_points(group="console_scripts", name="dagster")
    sys.exit(dagster.load()())


if __name__ == "__main__":
    main()
