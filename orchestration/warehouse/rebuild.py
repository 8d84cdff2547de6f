"""A rebuild beside the running product: everything that was ever landed is built again into a warehouse of its own,
while minutes are built and served as before, and takes the place of the warehouse at the end, which is one publish.

The other warehouse is in `rebuild` in the home, and is built as the warehouse is: windows of minutes in their order,
with its own watermark. A rebuild that was stopped or killed therefore continues with the window under way. It begins
again if the dbt project has changed. Finished days are read from kept staged rows (see `staged`) where they are right.
"""

import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ingest.landing.loads import committed_loads
from orchestration.config import locks
from orchestration.config.clock import DAY_MS, as_utc, now_ms
from orchestration.config.places import is_file
from orchestration.config.settings import WAREHOUSE, Settings
from orchestration.warehouse.access import open_warehouse, warehouse_lock
from orchestration.warehouse.dbt_runner.process import fingerprint
from orchestration.warehouse.quarantine import BODY
from orchestration.warehouse.transform import build
from orchestration.warehouse.trim import trim_warehouse
from orchestration.warehouse.watermark import prepare
from orchestration.warehouse.windows import MAX_MINUTES
from orchestration.warehouse.writer import PipelineError, Report, UnreadableError, literals

FOLDER, STATE = "rebuild", "rebuild.json"
LOCK_WAIT_S = 600.0
# What no build makes. What somebody dropped from the quarantine stays dropped, everything else in it is tried again.
CARRIED = f"""
delete from other.quality.suspect_rows; insert into other.quality.suspect_rows by name from quality.suspect_rows;
delete from other.pipeline.test_results; insert into other.pipeline.test_results by name from pipeline.test_results;
create temp table dropped as from pipeline.quarantine where state = 'dropped';
update other.pipeline.quarantine set state = 'dropped' where ({BODY}) in (select ({BODY}) from dropped);
insert into other.pipeline.quarantine by name
select * replace (
    (select coalesce(max(quarantine_id), 0) from other.pipeline.quarantine) + row_number() over (order by quarantine_id)
    as quarantine_id)
from dropped anti join other.pipeline.quarantine using ({BODY});
drop table dropped
"""


@dataclass(frozen=True)
class Progress:
    """A window that was built: its newest minute, how many minutes it has, how long it took, and how many days with
    responses come after it."""

    minute_ms: int
    minutes: int
    seconds: float
    days_left: int


def beside(settings: Settings) -> Settings:
    """The settings of the rebuild: a home in the home, with a warehouse of its own and the same landing."""
    home = settings.home / FOLDER
    return replace(settings, home=home, warehouse=str(home / WAREHOUSE))


def rebuild(settings: Settings, *, max_minutes: int = MAX_MINUTES, report: Report = print) -> Iterator[Progress]:
    """Build everything again and replace the warehouse; yields each window, of at most so many minutes. PipelineError
    if another rebuild runs, or if the warehouse is not a file."""
    if not is_file(settings.warehouse):
        raise PipelineError(
            "only a warehouse that is a file is rebuilt beside itself: for others there is `tidemark build --rebuild`"
        )
    other = beside(settings)
    with _alone(other.home):
        _begin(settings, other, report)
        yield from _windows(other, max_minutes, report)
        _replace(settings, other, max_minutes, report)


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    home.mkdir(parents=True, exist_ok=True)
    descriptor = locks.take(home / "rebuild.lock", f"process {os.getpid()}")
    if descriptor is None:
        raise PipelineError(f"a rebuild runs already: {locks.note_of(home / 'rebuild.lock') or 'another process'}")
    try:
        yield
    finally:
        os.close(descriptor)


def _begin(settings: Settings, other: Settings, report: Report) -> None:
    """Go on with the rebuild that is there, or begin with an empty warehouse."""
    state, project = other.home / STATE, fingerprint()
    if state.exists() and Path(other.warehouse).exists():
        if json.loads(state.read_text())["project"] == project:
            report("the rebuild that was interrupted continues")
            return
        report("the dbt project has changed since the rebuild began: it begins again")
    state.unlink(missing_ok=True)
    _remove_warehouse(other)
    with open_warehouse(other) as con:
        prepare(con)
    with warehouse_lock(settings, "rebuild", wait_s=LOCK_WAIT_S, report=report):
        try:
            _carry_over(settings, other)
        except UnreadableError as error:
            report(f"nothing is taken over from the warehouse: {error}")
    state.write_text(json.dumps({"project": project}))


def _remove_warehouse(other: Settings) -> None:
    for name in ("", ".wal"):
        Path(f"{other.warehouse}{name}").unlink(missing_ok=True)
    shutil.rmtree(other.minutes, ignore_errors=True)


def _windows(other: Settings, max_minutes: int, report: Report) -> Iterator[Progress]:
    days = sorted({load.files[0].split("/")[-2] for load in committed_loads(other.landing)})
    trimmed_ms = 0
    while True:
        started = time.monotonic()
        built = build(other, max_minutes=max_minutes, stop_after_s=0, report=lambda _: None)
        if built is None:
            return
        newest = built.builds[-1].minutes[-1]
        if newest // DAY_MS != trimmed_ms // DAY_MS:
            trimmed_ms = newest
            trim_warehouse(other, report=report)
        left = sum(day > as_utc(newest, "%Y-%m-%d") for day in days)
        yield Progress(newest, built.minutes, time.monotonic() - started, left)


def _replace(settings: Settings, other: Settings, max_minutes: int, report: Report) -> None:
    """Build what has landed meanwhile, and put the new warehouse into the place of the old one."""
    with warehouse_lock(settings, "rebuild", wait_s=LOCK_WAIT_S, report=report):
        for _ in _windows(other, max_minutes, report):
            pass
        try:
            _carry_over(settings, other)
        except UnreadableError as error:
            aside = Path(f"{settings.warehouse}.damaged-{now_ms()}")
            report(f"the warehouse is damaged; it is kept as {aside}: {error}")
            Path(settings.warehouse).replace(aside)
        for folder in sorted(other.minutes.glob("file=*")):
            # Named by its content: one that is there is the same.
            if not (settings.minutes / folder.name).exists():
                settings.minutes.mkdir(parents=True, exist_ok=True)
                shutil.move(folder, settings.minutes / folder.name)
        Path(f"{settings.warehouse}.wal").unlink(missing_ok=True)
        Path(other.warehouse).replace(settings.warehouse)
    shutil.rmtree(other.home)


def _carry_over(settings: Settings, other: Settings) -> None:
    """Take over what no build makes, and leave neither file with a write-ahead log. That the old warehouse opens to be
    written proves that nobody reads it."""
    if not Path(settings.warehouse).exists():
        return
    with open_warehouse(settings) as con:
        prepare(con)
        con.execute(f"attach {literals(other.warehouse)} as other")
        con.execute(f"begin; {CARRIED}; commit")
        con.execute("checkpoint other; checkpoint")
