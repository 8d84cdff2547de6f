"""What more cores are worth to a minute's build: measured on one and two of them, and by plan beyond.

`python -m benchmarks.cores FOLDER --universe full` records minutes into FOLDER, unless it has some, and builds each of
them with as many models at once as there are cores. The plan takes each model's time on one core and the models that it
waits for, and gives the next one to the first core that is free: no number of cores is faster than the longest chain.
"""

import argparse
import heapq
import os
import resource
import shutil
import statistics
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from benchmarks import minutes
from benchmarks.product import table
from orchestration.config.settings import Settings
from orchestration.warehouse.transform import windows_to_build
from tests.support.pipeline.dbt_project import RUN, give_parsed, manifest
from tests.support.pipeline.warehouse import give_built

PLANNED = (1, 2, 4, 8, 16)
# The first builds after an empty warehouse have more to do than any later one.
WARM_UP = 2


class Built(NamedTuple):
    """One minute's build: seconds of wall and of CPU, and of each model its seconds and the models that it reads."""

    wall_s: float
    cpu_s: float
    took_s: dict[str, float]
    reads: dict[str, list[str]]


def build(folder: Path, cores: int) -> list[Built]:
    """Build each recorded minute on so many cores; in a process of its own."""
    from dbt.cli.main import dbtRunner

    os.sched_setaffinity(0, range(cores))
    home = folder / f"cores-{cores}"
    shutil.rmtree(home, ignore_errors=True)
    given = {"TIDEMARK_HOME": str(home), "TIDEMARK_BUILD_THREADS": str(cores)}
    settings = replace(Settings.from_env(given), landing=str(folder / "landing"))
    os.environ.update(settings.environ())
    give_parsed(settings)
    give_built(settings)
    paths = ("--target-path", str(home / "target"), "--log-path", str(home / "logs"))
    found = []
    for opened in windows_to_build(settings, max_minutes=1, report=lambda _: None):
        began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
        threads = ("--threads", str(settings.models_at_once))
        outcome = dbtRunner(manifest=manifest()).invoke([*opened.arguments, *threads, *RUN, *paths])
        after, ended = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        if not outcome.success:
            raise RuntimeError(f"dbt failed: {outcome.exception}")
        results = {result.node.unique_id: result for result in outcome.result.results}  # type: ignore[union-attr]
        found.append(
            Built(
                ended - began,
                after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
                {name: result.execution_time for name, result in results.items()},
                {
                    name: [parent for parent in result.node.depends_on_nodes if parent in results]
                    for name, result in results.items()
                },
            )
        )
        # dbt keeps the warehouse open, and the next window is opened by another connection.
        from dbt.adapters.duckdb.connections import DuckDBConnectionManager

        DuckDBConnectionManager.close_all_connections()  # type: ignore[no-untyped-call]
    return found


def planned_s(took_s: Mapping[str, float], reads: Mapping[str, list[str]], cores: int) -> float:
    """Seconds until the last model is built by so many cores, each of which takes the next one that waits for none."""
    left = {name: len(parents) for name, parents in reads.items()}
    readers = dict[str, list[str]]()
    for name, parents in reads.items():
        for parent in parents:
            readers.setdefault(parent, []).append(name)
    ready, running, now = [name for name, count in left.items() if not count], list[tuple[float, str]](), 0.0
    while ready or running:
        while ready and len(running) < cores:
            name = ready.pop(0)
            heapq.heappush(running, (now + took_s[name], name))
        now, done = heapq.heappop(running)
        for reader in readers.get(done, ()):
            left[reader] -= 1
            if not left[reader]:
                ready.append(reader)
    return now


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cores", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--universe", default="full", help="size of the simulated market")
    parser.add_argument("--minutes", type=int, default=8)
    arguments = parser.parse_args()
    folder: Path = arguments.folder.resolve()
    if not (folder / "landing").exists():
        hour = (int(time.time()) // 3600 - 2) * 3_600_000
        start = hour + 15 * minutes.MINUTE_MS
        minutes.record(folder / "landing", folder / "dlt", arguments.universe, start, arguments.minutes)
    measured = dict[int, list[Built]]()
    for cores in (1, 2):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            measured[cores] = pool.submit(build, folder, cores).result()[WARM_UP:]
    rows = []
    for cores in PLANNED:
        rest = statistics.median(one.wall_s - sum(one.took_s.values()) for one in measured[1])
        plan = statistics.median(planned_s(one.took_s, one.reads, cores) for one in measured[1]) + rest
        real = measured.get(cores)
        rows.append(
            {
                "cores": cores,
                "wall s": f"{statistics.median(one.wall_s for one in real):.2f}" if real else "",
                "CPU s": f"{statistics.median(one.cpu_s for one in real):.2f}" if real else "",
                "wall s by plan": f"{plan:.2f}",
            }
        )
    print(table(rows))


if __name__ == "__main__":
    main()
