"""Build the warehouse: dbt runs all models on the committed loads that wait, window after window.

`build` does all of it for the command line. Dagster uses the same parts with its own handling of dbt's events:
`windows_to_build` yields the dbt arguments to run between opening a window and moving the watermark.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from ingest.declaration.history import is_history
from orchestration.config.clock import MINUTE_MS, now_ms
from orchestration.config.logs import about_minute
from orchestration.config.settings import Settings
from orchestration.warehouse.access import open_warehouse, warehouse_lock
from orchestration.warehouse.backfill_state import is_fetching, is_running
from orchestration.warehouse.closing import Closed, Closing, close, closed_by_dbt
from orchestration.warehouse.dbt_runner.process import fingerprint, idle_models, prepare_manifest, run_dbt
from orchestration.warehouse.installed import begin_installed
from orchestration.warehouse.quarantine import attempts, minutes_to_retry, set_aside_unread
from orchestration.warehouse.restate import WINDOW_MINUTES
from orchestration.warehouse.staged import note_kept
from orchestration.warehouse.upgrade import adapt, this_version
from orchestration.warehouse.watermark import Build, close_window, open_window, prepare
from orchestration.warehouse.windows import (
    AFTER_HISTORY,
    MAX_BYTES,
    MAX_MINUTES,
    Waiting,
    Window,
    endpoints_of,
    next_window,
    triggers_of,
    window_again,
)
from orchestration.warehouse.writer import WAIT_S, Report, UnreadableError

# So often the past is built at least, however long minutes take.
PAST_EVERY_MS = 4 * MINUTE_MS
OURS = "table_catalog = current_database() and table_schema = 'main'"


@dataclass(frozen=True)
class BuildResult:
    """The outcome of one call of `build`. `more` says that it stopped before all waiting loads were built, `last` how
    the last window was closed."""

    builds: tuple[Build, ...]
    loads: int
    more: bool
    last: Closed

    @property
    def minutes(self) -> int:
        return sum(len(build.minutes) for build in self.builds)

    @property
    def as_of_ms(self) -> int:
        return self.builds[-1].as_of_ms


@dataclass
class OpenWindow:
    """A window that is written into the warehouse, the models that it leaves out, the dbt arguments that build it, and
    what has dbt's own process close it (see `Closing.as_variable`); `closed` is set when it is closed."""

    window: Window
    idle: list[str]
    arguments: list[str]
    closing: str = ""
    closed: Closed | None = None


def build(
    settings: Settings,
    *,
    max_minutes: int = MAX_MINUTES,
    max_bytes: int = MAX_BYTES,
    stop_after_s: float | None = None,
    rebuild: bool = False,
    publish: bool = False,
    wait_s: float = WAIT_S,
    report: Report = print,
) -> BuildResult | None:
    """Build all waiting loads; None if there are none. With `rebuild`, everything ever landed is built again, and with
    `publish` the last window is published at once if dbt's own process closes it.

    After `stop_after_s` no further window is started, so that the built ones can be published meanwhile.
    """
    done: list[OpenWindow] = []
    with warehouse_lock(settings, "build", wait_s=wait_s, report=report) as lock:
        prepare_manifest(settings, report)
        if rebuild:
            forget(settings, report)
        begin_installed(settings)
        bounds = {
            "max_minutes": max_minutes, "max_bytes": max_bytes, "stop_after_s": stop_after_s, "publish": publish,
        }  # fmt: skip
        for opened in windows_to_build(settings, report=report, **bounds):  # type: ignore[arg-type]
            about_minute(opened.window.minutes[-1])
            report(f"building {_described(opened.window)}")
            for attempt in attempts(settings, opened.idle, lock, report):
                with attempt:
                    run_dbt(settings, opened.arguments, lock=lock, closing=opened.closing)
            done.append(opened)
    return result(done)


def result(done: list[OpenWindow]) -> BuildResult | None:
    """The outcome of the windows that were built."""
    closed = [opened.closed for opened in done if opened.closed is not None]
    if not closed:
        return None
    builds = tuple(one.build for one in closed)
    loads = sum(len({row[0] for row in opened.window.finished}) for opened in done)
    return BuildResult(builds, loads, done[-1].window.more, closed[-1])


def windows_to_build(
    settings: Settings,
    *,
    max_minutes: int = MAX_MINUTES,
    max_bytes: int = MAX_BYTES,
    stop_after_s: float | None = None,
    which: Waiting = "all",
    publish: bool = False,
    run_started_ms: float | None = None,
    report: Report = print,
) -> Iterator[OpenWindow]:
    """Open one window after the other, what waits first and then what is in quarantine and to be tried again. The
    caller, who holds the writer lock, runs dbt before asking for the next window: asking for it closes this one, if
    dbt's own process has not done so; leaving the loop (by an error) does not. `publish` and `run_started_ms` as
    `Closing` has them.

    Where minutes leave the past no time (`stop_after_s` is 0), a window of it is built every PAST_EVERY_MS."""
    started = time.monotonic()
    project, seeds = fingerprint(), fingerprint("seeds")
    while True:
        with open_warehouse(settings, checkpoint=False) as con:
            prepare(con)
            adapt(con, settings, project, report)
            built = dict(con.execute("select name, value from pipeline.settings").fetchall())
            # A time in the future is that of a clock which was ahead.
            since_past_ms = now_ms() - int(built.get("past_ms", 0))
            if which == "past" and stop_after_s == 0 and 0 <= since_past_ms < PAST_EVERY_MS:
                return
            window = next_window(con, settings.landing, max_minutes, max_bytes, which=which)
            waits = window is not None
            if window is None:
                again = minutes_to_retry(con, project, WINDOW_MINUTES)
                if not again:
                    return
                window = window_again(con, settings.landing, again)
            if not window.minutes:
                close_window(con, window)
                continue
            endpoints = endpoints_of(con, window)
            triggers = triggers_of(con, window, endpoints, fetched=not is_running(settings))
            open_window(con, window, triggers, fetching=is_fetching(settings))
            if waits:
                set_aside_unread(con, window, report)
            changed = built.get("project") != project
            if not changed:
                note_kept(con, settings, window)
            idle = [] if changed else idle_models(settings, endpoints | triggers)
        state = {"project": project, "seeds": seeds, "version": this_version()}
        if AFTER_HISTORY in triggers:
            state["history"] = "none"
        elif any(map(is_history, endpoints)):
            state["history"] = "landed"
        # With a time of 0 each window is the last.
        at_once = publish and (not window.more or stop_after_s == 0)
        closing = Closing(window, state, at_once, run_started_ms)
        opened = OpenWindow(window, idle, _arguments(changed, built.get("seeds") != seeds, idle))
        if which != "past":
            opened.closing = closing.as_variable(settings)
        yield opened
        opened.closed = closed_by_dbt(settings, closing)
        if opened.closed is None:
            when = {"past_ms": str(now_ms())} if which == "past" else {}
            opened.closed = close(settings, replace(closing, state=state | when))
        more = opened.closed.more
        if not more or (stop_after_s is not None and time.monotonic() - started > stop_after_s):
            return


def _arguments(project_changed: bool, seeds_changed: bool, idle: list[str]) -> list[str]:
    """dbt's selection: models with a fired trigger; views and seeds only if the project changed, because they do not
    change between windows."""
    arguments = ["build", "--resource-type", "model"]
    if seeds_changed:
        arguments += ["--resource-type", "seed"]
    if not project_changed:
        arguments += ["--exclude", "config.materialized:view_in_place", *idle]
    return arguments


def forget(settings: Settings, report: Report) -> None:
    """Empty the warehouse, for a rebuild from the landing; an unreadable file is renamed and kept.

    The served edition stays until a publish has at least as much.
    """
    try:
        _empty(settings)
    except (UnreadableError, duckdb.Error) as error:
        path = Path(settings.warehouse)
        if not path.is_file():
            raise
        aside = path.with_name(f"{path.name}.damaged-{time.time_ns() // 1_000_000}")
        report(f"the warehouse is damaged; it is kept as {aside}: {error}")
        path.replace(aside)
        path.with_name(f"{path.name}.wal").unlink(missing_ok=True)


def _empty(settings: Settings) -> None:
    with open_warehouse(settings) as con:
        prepare(con)
        con.execute("begin")
        # What somebody dropped from the quarantine stays dropped; everything else is tried again by the rebuild.
        con.execute("create temp table dropped as from pipeline.quarantine where state = 'dropped'")
        con.execute("drop schema if exists pipeline cascade")
        for (name,) in con.execute(
            f"select table_name from information_schema.tables where {OURS} and table_type = 'VIEW'"
        ).fetchall():
            con.execute(f'drop view main."{name}"')
        for (name,) in con.execute(
            f"select table_name from information_schema.tables where {OURS} and table_type = 'BASE TABLE'"
        ).fetchall():
            con.execute(f'drop table main."{name}"')
        con.execute("commit")
        prepare(con)
        con.execute("insert into pipeline.quarantine from dropped")


def _described(window: Window) -> str:
    first, last = (time.strftime("%Y-%m-%d %H:%M", time.gmtime(window.minutes[at] / 1000)) for at in (0, -1))
    span = first if first == last else f"{first} to {last}"
    return f"{len(window.minutes)} minutes ({span} UTC) from {len(window.files)} files"
