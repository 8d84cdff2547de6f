"""What a rebuild costs from bodies and from kept staged rows, in the same windows of the same minutes.

`python -m benchmarks.rebuild FOLDER --universe full --minutes 130 --window 60` records minutes into FOLDER, unless it
has some, builds them from bodies, compacts them with their staged rows, and builds them again. The first window of each
build makes the views and is left out.
"""

import argparse
import os
import resource
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks import minutes
from benchmarks.product import table
from orchestration.config.settings import Settings
from orchestration.warehouse.compaction import compact_landing
from orchestration.warehouse.staged import FOLDER, remove_kept
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

    def row(self, what: str) -> dict[str, object]:
        per = {"wall s": self.wall_s, "CPU s": self.cpu_s, "of it staging": self.staging_s}
        each = {f"{name} / minute": f"{seconds / self.minutes:.3f}" for name, seconds in per.items()}
        return {"": what, "minutes": self.minutes, **each, "times real time": f"{60 * self.minutes / self.wall_s:.0f}"}


@contextmanager
def _measured(cost: Cost) -> Iterator[None]:
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    yield
    after = resource.getrusage(resource.RUSAGE_SELF)
    cost.wall_s += time.perf_counter() - began
    cost.cpu_s += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def settings_for(folder: Path, name: str) -> Settings:
    """A home in the folder without rows, and the folder's landing."""
    home = folder / name
    shutil.rmtree(home, ignore_errors=True)
    settings = replace(Settings.from_env({"TIDEMARK_HOME": str(home)}), landing=str(folder / "landing"))
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


def _megabytes(folder: Path) -> str:
    return f"{sum(file.stat().st_size for file in folder.rglob('*') if file.is_file()) / 1e6:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rebuild", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--universe", default="full", help="size of the simulated market")
    parser.add_argument("--minutes", type=int, default=130)
    parser.add_argument("--window", type=int, default=60, help="minutes of a window; the first one is left out")
    arguments = parser.parse_args()
    folder: Path = arguments.folder.resolve()
    if not (folder / "landing").exists():
        day = (int(time.time()) // 86_400 - 2) * 86_400_000
        minutes.record(folder / "landing", folder / "dlt", arguments.universe, day, arguments.minutes)
    remove_kept(str(folder / "landing"), [])
    settings = settings_for(folder, "bodies")
    bodies, keeping = build(settings, arguments.window), Cost()
    with _measured(keeping):
        compact_landing(settings, LATER, report=lambda _: None)
    kept = build(settings_for(folder, "kept"), arguments.window)
    if not (bodies.minutes and kept.minutes):
        raise SystemExit(
            f"{arguments.minutes} minutes are one window of {arguments.window}: there is nothing to compare"
        )
    rows = [bodies.row("from bodies"), kept.row("from staged rows")]
    print(table(rows))
    cpu = kept.cpu_s / kept.minutes / (bodies.cpu_s / bodies.minutes)
    staging = kept.staging_s / kept.minutes / (bodies.staging_s / bodies.minutes)
    staged, responses = (_megabytes(folder / "landing" / name) for name in (FOLDER, "responses"))
    print(
        f"\nstaged rows / bodies: CPU {cpu:.2f}, staging {staging:.2f}; {staged} MB beside {responses} MB of responses"
    )
    print(f"compacting, if it was not compacted, and keeping: {keeping.cpu_s:.1f} s of CPU")


if __name__ == "__main__":
    main()
