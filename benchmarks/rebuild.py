"""What a rebuild costs from bodies and from kept staged rows, in the same windows of the same minutes.

`python -m benchmarks.rebuild FOLDER --universe full --minutes 125 --window 62` records minutes around a midnight into
FOLDER, unless it has some, and builds them from bodies with each number of DuckDB's threads (as many models at once).
It compacts the two days, keeps their staged rows with each number of workers, and builds them from these. The first
window of each build makes the views and is left out.
"""

import argparse
import os
import resource
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path

from benchmarks import minutes
from benchmarks.calibration import calibration
from benchmarks.product import table
from ingest.landing.loads import TABLE
from orchestration.config.settings import Settings
from orchestration.warehouse.compaction import compact_landing
from orchestration.warehouse.staged import FOLDER, keep_ahead, remove_kept
from orchestration.warehouse.transform import windows_to_build
from tests.support.pipeline.dbt_project import RUN, give_parsed, manifest
from tests.support.pipeline.warehouse import give_built

LATER = "2999-01-01"


@dataclass
class Cost:
    """Seconds of wall and of CPU, and of it the seconds of the models that read bodies or staged rows."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    staging_s: float = 0.0
    minutes: int = 0

    def row(self, what: str, at_once: int) -> dict[str, object]:
        per = {"wall s": self.wall_s, "CPU s": self.cpu_s, "of it staging": self.staging_s}
        each = {f"{name} / minute": f"{seconds / self.minutes:.3f}" for name, seconds in per.items()}
        times = f"{60 * self.minutes / self.wall_s:.0f}"
        return {"": what, "at once": at_once, "minutes": self.minutes, **each, "times real time": times}


@contextmanager
def _measured(cost: Cost) -> Iterator[None]:
    began, before = time.perf_counter(), _cpu_s()
    yield
    cost.wall_s += time.perf_counter() - began
    cost.cpu_s += _cpu_s() - before


def _cpu_s() -> float:
    """CPU of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def settings_for(folder: Path, name: str, threads: int) -> Settings:
    """A home in the folder without rows, and the folder's landing."""
    home = folder / name
    shutil.rmtree(home, ignore_errors=True)
    chosen = {"TIDEMARK_HOME": str(home), "TIDEMARK_BUILD_THREADS": str(threads)}
    settings = replace(Settings.from_env(chosen), landing=str(folder / "landing"))
    os.environ.update(settings.environ())
    give_parsed(settings)
    give_built(settings)
    return settings


def build(settings: Settings, window: int) -> Cost:
    """Build all that is landed in windows of so many minutes."""
    from dbt.adapters.duckdb.connections import DuckDBConnectionManager
    from dbt.cli.main import dbtRunner

    paths = ("--target-path", str(settings.dbt_target), "--log-path", str(settings.dbt_logs))
    total, first = Cost(), True
    for opened in windows_to_build(settings, max_minutes=window, report=lambda _: None):
        cost = Cost(minutes=len(opened.window.minutes))
        with _measured(cost):
            threads = ("--threads", str(settings.models_at_once))
            outcome = dbtRunner(manifest=manifest()).invoke([*opened.arguments, *threads, *RUN, *paths])
        if not outcome.success:
            raise RuntimeError(f"dbt failed: {outcome.exception}")
        for result in outcome.result.results:  # type: ignore[union-attr]
            if result.node.name == "raw_window" or result.node.name.startswith("staged_"):
                cost.staging_s += result.execution_time
        if not first:
            total.wall_s += cost.wall_s
            total.cpu_s += cost.cpu_s
            total.staging_s += cost.staging_s
            total.minutes += cost.minutes
        first = False
        # dbt keeps the warehouse open, and the next window is opened by another connection.
        DuckDBConnectionManager.close_all_connections()  # type: ignore[no-untyped-call]
    return total


def _divide(responses: Path) -> None:
    """Put the first half of the loads into the folder of the day before: a landing has a folder for each day in which
    something was landed, and each worker takes one."""
    files = sorted(responses.glob("*/*.parquet"), key=lambda file: file.name)
    before = responses / str(date.fromisoformat(files[0].parent.name) - timedelta(days=1))
    before.mkdir()
    for file in files[: len(files) // 2]:
        file.rename(before / file.name)


def _megabytes(folder: Path) -> str:
    return f"{sum(file.stat().st_size for file in folder.rglob('*') if file.is_file()) / 1e6:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rebuild", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--universe", default="full", help="size of the simulated market")
    parser.add_argument("--minutes", type=int, default=125)
    parser.add_argument("--window", type=int, default=62, help="minutes of a window; the first one is left out")
    parser.add_argument("--at-once", type=int, nargs="+", default=[1, 2], help="threads of a build, and workers")
    arguments = parser.parse_args()
    if arguments.minutes <= arguments.window:
        parser.error(f"{arguments.minutes} minutes are one window of {arguments.window}: nothing is left to measure")
    folder: Path = arguments.folder.resolve()
    before = calibration()
    if not (folder / "landing").exists():
        midnight = (int(time.time()) // 86_400 - 2) * 86_400_000
        start = midnight - arguments.minutes // 2 * minutes.MINUTE_MS
        minutes.record(folder / "landing", folder / "dlt", arguments.universe, start, arguments.minutes)
        _divide(folder / "landing" / TABLE)
    rows = []
    for threads in arguments.at_once:
        remove_kept(str(folder / "landing"), [])
        settings = settings_for(folder, f"bodies_{threads}", threads)
        rows.append(build(settings, arguments.window).row("from bodies", threads))
    compact_landing(settings, LATER, report=lambda _: None)
    for workers in arguments.at_once:
        # The views of the warehouse that was built last are those whose rows are kept.
        remove_kept(str(folder / "landing"), [])
        keeping = Cost(minutes=arguments.minutes)
        with _measured(keeping):
            keep_ahead(settings, workers, report=lambda _: None)
        rows.append(keeping.row("keeping staged rows", workers))
    for threads in arguments.at_once:
        settings = settings_for(folder, f"kept_{threads}", threads)
        rows.append(build(settings, arguments.window).row("from staged rows", threads))
    print(table(rows))
    staged, responses = (_megabytes(folder / "landing" / name) for name in (FOLDER, TABLE))
    print(f"\n{staged} MB of staged rows beside {responses} MB of responses")
    print(f"calibration {before}, {calibration()} at the end")


if __name__ == "__main__":
    main()
