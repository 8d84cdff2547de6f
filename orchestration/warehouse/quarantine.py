"""Quarantine: a body with which a model fails is set aside, so that everything else is built in the same minute.

When dbt fails, the window is searched: first for the venue, then for the body, with runs of dbt that build the failed
models from a part of the window's bodies. What is found is noted in `pipeline.quarantine`, and `raw_window` reads it as
a response without a body. If the models fail without any body too, the data is not the cause and the error stands.

A body is tried again when the project has changed, or when somebody asks for it. Its row is `retrying` meanwhile, and
goes when the window with it is built.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TypeVar

import duckdb

from ingest.landing.store import give_access
from orchestration.config.clock import HOUR_MS, MINUTE_MS, as_utc, now_ms
from orchestration.config.settings import Settings
from orchestration.warehouse.access import open_warehouse, warehouse_lock
from orchestration.warehouse.dbt_runner.process import DbtError, fingerprint, run_dbt
from orchestration.warehouse.watermark import prepare
from orchestration.warehouse.windows import Window
from orchestration.warehouse.writer import PipelineError, Report, literals

# After so many seconds, the bodies of a venue that are still in doubt are set aside together: the other venues wait.
SEARCH_S = 25.0
# The search for the venues ends here, and the error stands: one venue would have been found.
VENUES_S = 90.0
# A request whose body failed is set aside unread for so long: an exchange that sends the same every minute costs one
# search an hour. If so many requests of an endpoint failed, the whole endpoint is set aside. Bodies that were still in
# doubt are read again sooner.
UNREAD_MS, IN_DOUBT_MS, WHOLE_ENDPOINT = HOUR_MS, 10 * MINUTE_MS, 10
FAILED_MODEL = re.compile(r"\b(?:in|model|Failure in) (?:sql |python )?model (?:main\.)?(\w+)")
# Failures of the machine, which no body causes.
MACHINE = re.compile(r"No space left|IO Error|HTTP Error|Could not set lock|Read-only file system")
# The load in the name of a landed file, as dlt writes it.
LOAD_ID = r"(\d+\.\d+)\.[^/]*$"
WINDOW = "main.raw_window"
SEARCHED = "pipeline.searched_window"
Unit = TypeVar("Unit")
BODY = "tick_ms, venue, endpoint, key, params, requested_ms"


@dataclass(frozen=True)
class Quarantined:
    """A body that is set aside; `alone` is false if the search ended before it was known alone."""

    quarantine_id: int
    state: str
    tick_ms: int
    venue: str
    endpoint: str
    key: str
    load_id: str | None
    bytes: int
    models: str
    error: str
    alone: bool
    set_aside_ms: int


class Attempt:
    """One run of dbt over a window. Its failure, of one of these kinds, is kept and not raised."""

    def __init__(self, kinds: tuple[type[Exception], ...]) -> None:
        self.kinds = kinds
        self.error: Exception | None = None

    def __enter__(self) -> None:
        """Begin the run."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        self.error = error if isinstance(error, self.kinds) else None
        return self.error is not None


def attempts(
    settings: Settings,
    idle: Sequence[str],
    lock: int,
    report: Report,
    kinds: tuple[type[Exception], ...] = (DbtError,),
) -> Iterator[Attempt]:
    """Attempts at the open window until one succeeds; each failure sets bodies aside first, or is raised.

    `for attempt in attempts(…): with attempt: <run dbt>`. The caller holds the writer lock.
    """
    started = time.monotonic()
    while True:
        attempt = Attempt(kinds)
        yield attempt
        if attempt.error is None:
            return
        _set_aside_culprits(settings, idle, lock, attempt.error, report, started)


def _set_aside_culprits(
    settings: Settings, idle: Sequence[str], lock: int, error: Exception, report: Report, started: float
) -> None:
    """Find the bodies with which the failed models fail and note them; raises the error if there are none."""
    models = sorted(set(FAILED_MODEL.findall(str(error))) - {"raw_window"})
    if not models or MACHINE.search(str(error)):
        raise error
    report(f"{', '.join(models)} failed: looking for the exchange and the body")
    with open_warehouse(settings, checkpoint=False) as con:
        # The search gives the views other bodies, which they must read.
        con.execute("delete from pipeline.window_kept")
    selected = ["--select", *(f"+{model}" for model in models)]
    arguments = ["build", "--resource-type", "model", *selected, "--exclude", "raw_window", *idle]
    failure = ""

    def fails(bodies: Sequence[int]) -> bool:
        """Whether the models fail with these bodies alone."""
        nonlocal failure
        with open_warehouse(settings, checkpoint=False) as con:
            con.execute(f"delete from {WINDOW}")
            read = f"[{literals(*bodies)}]::bigint[]"
            con.execute(
                f"insert into {WINDOW} by name select * exclude (number) replace "
                f"(case when list_contains({read}, number) then body end as body) from {SEARCHED}"
            )
        try:
            run_dbt(settings, [*arguments, "config.materialized:view_in_place"], lock=lock)
        except DbtError as reason:
            if MACHINE.search(str(reason)):
                raise
            failure = str(reason)
            return True
        return False

    by_venue = _searched(settings)
    if not by_venue or fails([]):
        raise error
    venues = list(by_venue)

    def venues_fail(some: Sequence[str]) -> bool:
        if time.monotonic() - started > VENUES_S:
            raise error
        return fails([body for venue in some for body in by_venue[venue]])

    for [venue] in culprits(venues, venues_fail, lambda: False):
        late = lambda: time.monotonic() - started > SEARCH_S  # noqa: E731
        for bodies in culprits(by_venue[venue], fails, late):
            _note(settings, bodies, models, _first_line(failure or str(error)))
            report(f"set aside {len(bodies)} of {len(by_venue[venue])} bodies of {venue}: {_first_line(failure)}")
    with open_warehouse(settings, checkpoint=False) as con:
        con.execute(f"drop table {SEARCHED}")


def culprits(
    units: Sequence[Unit], fails: Callable[[Sequence[Unit]], bool], late: Callable[[], bool]
) -> Iterator[list[Unit]]:
    """The units without which the others pass, given that all together fail and none passes.

    Each is found by bisecting the shortest failing beginning, so that units which only fail together are found too.
    When it is `late`, those that are still in doubt come as one group.
    """
    left = list(units)
    while left:
        low, high = 0, len(left)
        while high - low > 1 and not late():
            middle = (low + high) // 2
            if fails(left[:middle]):
                high = middle
            else:
                low = middle
        yield left[low:high]
        del left[low:high]
        if not left or not fails(left):
            return


def _searched(settings: Settings) -> dict[str, list[int]]:
    """Copy the window, its bodies numbered; returns the numbers of each venue's bodies."""
    with open_warehouse(settings, checkpoint=False) as con:
        con.execute(
            f"create or replace table {SEARCHED} as "
            f"select row_number() over (order by venue, endpoint, key, {BODY}) as number, * from {WINDOW}"
        )
        rows = con.execute(f"select venue, number from {SEARCHED} where body is not null order by 1, 2").fetchall()
    found: dict[str, list[int]] = {}
    for venue, number in rows:
        found.setdefault(venue, []).append(number)
    return found


def _note(settings: Settings, bodies: Sequence[int], models: Sequence[str], error: str) -> None:
    """Note bodies of the searched window in the quarantine, with the load that holds each."""
    with open_warehouse(settings, checkpoint=False) as con:
        chosen = f"select * from {SEARCHED} where number in ({literals(*bodies)})"
        _insert(con, chosen, literals(" ".join(models), error, str(len(bodies) == 1).lower(), now_ms(), fingerprint()))


def _insert(con: duckdb.DuckDBPyConnection, bodies: str, facts: str) -> None:
    """Insert the bodies of a query, with these values of models, error, alone, set_aside_ms, project."""
    files = [row[0] for row in con.execute("select file from pipeline.window_files").fetchall()]
    same = "and ".join(
        f"coalesce(f.{name}::varchar, '') = coalesce(b.{name}::varchar, '') " for name in BODY.split(", ")
    )
    give_access(con, files)
    con.execute("begin")
    con.execute(f"create or replace temp table found as {bodies}")
    con.execute(f"delete from pipeline.quarantine as f using found as b where {same}")
    con.execute(
        f"""
        insert into pipeline.quarantine
        select
            (select coalesce(max(quarantine_id), 0) from pipeline.quarantine) + row_number() over (),
            'set aside', b.tick_ms, b.venue, b.endpoint, b.key, b.params, b.requested_ms, b.received_ms,
            regexp_extract(any_value(f.filename), '{LOAD_ID}', 1),
            any_value(f.filename), strlen(any_value(b.body)), {facts}
        from found as b
        left join read_parquet([{literals(*files)}], filename = true, union_by_name = true) as f on {same}
        group by {", ".join(f"b.{name}" for name in BODY.split(", "))}, b.received_ms
        """
    )
    con.execute("commit")


def set_aside_unread(con: duckdb.DuckDBPyConnection, window: Window, report: Report) -> None:
    """Set aside the window's bodies of requests that failed within the last hour, without reading them."""
    since = (
        "state = 'set aside' and error not like 'not read: %' "
        f"and set_aside_ms > if(alone, {now_ms() - UNREAD_MS}, {now_ms() - IN_DOUBT_MS})"
    )
    failed = con.execute(
        f"select venue, endpoint, case when count(distinct key) over (partition by venue, endpoint) < {WHOLE_ENDPOINT} "
        f"then key end, error from pipeline.quarantine where {since}"
    ).fetchall()
    if not failed or not window.files:
        return
    give_access(con, window.files)
    for venue, endpoint, key, error in {row[:3]: row for row in failed}.values():
        same = f"venue = {literals(venue)} and endpoint = {literals(endpoint)}"
        same += "" if key is None else f" and coalesce(key, '') = {literals(key)}"
        bodies = (
            f"select * from read_parquet([{literals(*window.files)}], union_by_name = true) where {same} "
            f"and tick_ms in ({literals(*window.minutes)}) and body is not null"
        )
        facts = literals("", f"not read: {error}", "true", now_ms(), fingerprint())
        if con.execute(f"select 1 from ({bodies}) anti join pipeline.quarantine using ({BODY}) limit 1").fetchone():
            _insert(con, f"from ({bodies}) anti join pipeline.quarantine using ({BODY})", facts)
            report(f"set aside unread what {venue} sent as {endpoint} {key or ''}: it failed within the last hour")


def minutes_to_retry(con: duckdb.DuckDBPyConnection, project: str, most: int) -> list[int]:
    """The first minutes with bodies to try again: asked for, or set aside by another version of the project. They are
    marked as being tried."""
    con.execute(
        f"update pipeline.quarantine set state = 'retrying' where state = 'set aside' and project <> '{project}'"
    )
    found = con.execute(
        f"select distinct tick_ms from pipeline.quarantine where state = 'retrying' order by 1 limit {most}"
    )
    return [row[0] for row in found.fetchall()]


def forget_retried(con: duckdb.DuckDBPyConnection, window: Window) -> None:
    """Forget what was tried again in a window that is built now."""
    minutes = literals(*window.minutes)
    con.execute(f"delete from pipeline.quarantine where state = 'retrying' and tick_ms in ({minutes})")


def _first_line(error: str) -> str:
    """The line of dbt's message that says what is wrong."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"[\w ]*Error: ", line)]
    return (named or lines or ["unknown"])[0][:500]


def listed(settings: Settings) -> list[Quarantined]:
    """What is in quarantine, the oldest first."""
    with open_warehouse(settings, checkpoint=False) as con:
        prepare(con)
        columns = ", ".join(Quarantined.__dataclass_fields__)
        rows = con.execute(f"select {columns} from pipeline.quarantine order by quarantine_id").fetchall()
    return [Quarantined(*row) for row in rows]


def mark(settings: Settings, ids: Sequence[int], state: str, report: Report = print) -> int:
    """Mark bodies (all without ids) as `retrying` or `dropped`; returns their number.

    Without ids, dropped ones stay dropped. Raises PipelineError if an id is not in quarantine.
    """
    with (
        warehouse_lock(settings, "quarantine", report=report),
        open_warehouse(settings, checkpoint=False) as con,
    ):
        prepare(con)
        present = {row[0] for row in con.execute("select quarantine_id from pipeline.quarantine").fetchall()}
        unknown = [str(number) for number in ids if number not in present]
        if unknown:
            raise PipelineError(f"not in quarantine: {', '.join(unknown)}; `tidemark quarantine list` shows what is")
        chosen = f"quarantine_id in ({literals(*ids)})" if ids else "state <> 'dropped'"
        rows = con.execute(f"update pipeline.quarantine set state = '{state}' where {chosen}").fetchall()
        return int(rows[0][0])


def as_text(found: Sequence[Quarantined]) -> str:
    """What is in quarantine as lines of text."""
    lines = [
        f"{body.quarantine_id:>5}  {body.state:<9}  {as_utc(body.tick_ms)}  {body.venue} {body.endpoint} {body.key}  "
        f"{body.bytes} bytes of load {body.load_id}\n       {body.models or 'no model'}: {body.error}"
        + ("" if body.alone else " (in doubt: the search ended before it was known alone)")
        for body in found
    ]
    return "\n".join(lines) or "nothing is in quarantine"
