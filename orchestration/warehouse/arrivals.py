"""Arrivals in the landing: wait for a minute's load, and summarize the loads that a run built."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from ingest.declaration.history import HISTORY_SQL
from ingest.landing.loads import committed_loads
from ingest.landing.store import give_access, is_remote
from orchestration.warehouse.windows import Window
from orchestration.warehouse.writer import Report, literals

# An object store is asked less often: each listing of it is a request that is paid for.
POLL_S, POLL_STORE_S = 0.02, 0.5


@dataclass(frozen=True)
class Arrival:
    """The newest load, the age of its last response, and the rows of the new loads per venue."""

    load_id: str | None
    lag_s: float | None
    rows: dict[str, int]


def wait_for_minute(landing: str, minute_ms: int, wait_s: float, report: Report) -> bool:
    """Wait until a committed load holds recorded rows of this minute (or a later one); False on timeout."""
    deadline, seen = time.monotonic() + wait_s, set[str]()
    # Nothing of it lands before it begins, unless a recorder's clock is ahead of this one.
    time.sleep(max(0.0, min(wait_s, minute_ms / 1000 - time.time())))
    # A load's id is the time of its creation, so a load with rows of this minute is not older than the minute.
    after = f"{minute_ms / 1000:.7f}"
    with duckdb.connect() as con:
        while True:
            loads = [load for load in committed_loads(landing, after) if load.load_id not in seen]
            if _recorded(con, [file for load in loads for file in load.files], minute_ms):
                return True
            seen.update(load.load_id for load in loads)
            if time.monotonic() >= deadline:
                report(f"the load of this minute is not committed after {wait_s:.0f} s: building what there is")
                return False
            time.sleep(POLL_STORE_S if is_remote(landing) else POLL_S)


def _recorded(con: duckdb.DuckDBPyConnection, files: list[str], minute_ms: int) -> bool:
    """Whether the files hold rows of the minute that are not backfilled."""
    if not files:
        return False
    give_access(con, files)
    rows = f"read_parquet([{literals(*files)}])"
    found = con.execute(f"select count(*) from {rows} where tick_ms >= {minute_ms} and not {HISTORY_SQL}").fetchone()
    return found is not None and found[0] > 0


def new_arrivals(landing: str, windows: Sequence[Window]) -> Arrival:
    """The rows of the loads that these windows finished."""
    rows = [row for window in windows for row in window.finished]
    if not rows:
        newest = committed_loads(landing, f"{time.time() - 86_400:.7f}")
        return Arrival(newest[-1].load_id if newest else None, None, {})
    files = [row[1] for row in rows if row[1] is not None]
    with duckdb.connect() as con:
        give_access(con, files)
        query = f"select venue, count(*) from read_parquet([{literals(*files)}]) group by 1 order by 1"
        per_venue = dict(con.execute(query).fetchall()) if files else {}
    as_of_ms = max(window.as_of_ms for window in windows)
    return Arrival(max(row[0] for row in rows), round(time.time() - as_of_ms / 1000, 1), per_venue)
