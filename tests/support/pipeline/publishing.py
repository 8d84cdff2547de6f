"""A publish in a process of its own, which a test may kill.

Each is forked from a process that has imported what a publish needs and nothing else: a start costs milliseconds, and
no thread of the test's DuckDB is in it.
"""

import multiprocessing
import os
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from orchestration.publish import publish

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload([__name__])


def publishing(warehouse: str, serving: Path, manifest: Path, seam: str = "") -> ForkServerProcess:
    """Start a publish; `seam` is Python that it runs first, where `p` is the publish module."""
    process = CONTEXT.Process(target=_publish, args=(warehouse, serving, manifest, seam))
    process.start()
    return process


def _publish(warehouse: str, serving: Path, manifest: Path, seam: str) -> None:
    exec(seam, {"os": os, "Path": Path, "p": publish})
    publish.publish_locked(warehouse, serving, manifest, report=lambda _: None)
