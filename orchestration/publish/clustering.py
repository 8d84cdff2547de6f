"""The order of rows in a replica: by coin, as readers request them, although rows arrive ordered by time.

Clustering rewrites a finished period of a tier ordered by coin: shortly after the period's end, and once more when late
bars have arrived and no more of them come. Compaction later rewrites several clustered periods as one longer period
(the hours of a day of minutes), and once a month each coin's whole history of premiums: some coins at a time, so that
no publish takes long.
The tables `clustered` and `compacted` record the progress. Everything here runs inside the publish's one transaction.
The minute's own publish leaves it out: the replica that nobody reads is put in order after it.
"""

import time
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import duckdb

from orchestration.config.clock import HOUR_MS, MINUTE_MS
from orchestration.warehouse.served import Served, Table, Tier, period_at
from orchestration.warehouse.writer import literals

# A period is clustered shortly after its end, and once more when late bars (requested once an hour) have arrived; after
# that it may be compacted.
CLUSTER_AFTER_MS, RECLUSTER_AFTER_MS, COMPACT_AFTER_MS = 5 * MINUTE_MS, 2 * HOUR_MS, 3 * HOUR_MS
# A period that ended longer ago is clustered once nothing was written to it for so long: a recorder's catch-up and a
# backfill write to the same hours and days each minute, and each time all of their rows would be rewritten.
QUIET_MS = 15 * MINUTE_MS
# After this long a publish starts no further clustering or compaction; the next publish continues.
CLUSTER_BUDGET_S, COMPACT_BUDGET_S = 2.0, 0.2
# The number of rows to compact at a time: finding them takes a tenth of a second, writing them two.
COMPACT_ROWS = 200_000
# Up to this number of late rows stay in insertion order; with more the period is compacted again.
LATE_ROWS = 10_000
STATE = """
create table if not exists clustered (
    table_name varchar, period_ms bigint, is_clustered boolean, is_late boolean, touched_ms bigint default 0);
create table if not exists compacted (table_name varchar, period_ms bigint, through varchar, is_done boolean);
"""


def periods_to_fill(tier: Tier, times: Iterable[int], as_of_ms: int) -> list[tuple[int, int]]:
    """The periods in which an empty replica is filled, each sorted: the same that clustering and compaction would
    produce."""
    return sorted({period_to_fill(tier, t, as_of_ms) for t in times})


def period_to_fill(tier: Tier, t: int, as_of_ms: int) -> tuple[int, int]:
    """Start and end of the longest period around this time that is clustered or compacted by now."""
    long = tier.compacted_of(t)
    return long if long[1] + COMPACT_AFTER_MS <= as_of_ms else tier.period_of(t)


def note_filled(con: duckdb.DuckDBPyConnection, table: Table, times: Sequence[int], as_of_ms: int) -> None:
    """Record that these periods were filled in sorted order."""
    tier = table.tier
    for start, end in sorted({tier.period_of(t) for t in times}):
        clustered, late = end + CLUSTER_AFTER_MS <= as_of_ms, end + RECLUSTER_AFTER_MS > as_of_ms
        con.execute(f"insert into clustered values ('{table.name}', {start}, {clustered}, {clustered and late}, 0)")
    for start, end in sorted({tier.compacted_of(t) for t in times}) if tier.compacted else []:
        if end + COMPACT_AFTER_MS <= as_of_ms:
            con.execute(f"insert into compacted values ('{table.name}', {start}, '', true)")


def note_histories(con: duckdb.DuckDBPyConnection, served: Served, as_of_ms: int) -> None:
    """Record that the history tables were filled in sorted order."""
    for table, history in served.histories.items():
        if history.read_by:
            con.execute(f"insert into clustered values ('{table}', {_month(as_of_ms)}, true, false, 0)")


class Touched(NamedTuple):
    """The buckets of a table to which rows were written: those written as a whole, and the late rows in others."""

    table: Table
    whole: set[int]
    late: dict[int, int]


def note_touched(con: duckdb.DuckDBPyConnection, touched_table: Touched, as_of_ms: int) -> None:
    """Record that rows were written: their clustered periods must be clustered again. A compacted period stays
    compacted until it has more than LATE_ROWS late rows."""
    table, tier = touched_table.table.name, touched_table.table.tier
    whole, late = touched_table.whole, touched_table.late
    began = {
        period
        for (period,) in con.execute(f"select period_ms from compacted where table_name = '{table}'").fetchall()
        if tier.compacted
    }
    touched: dict[int, int] = {}
    for t in whole | late.keys():
        long = tier.compacted_of(t)[0]
        if long in began:
            touched[long] = touched.get(long, 0) + (LATE_ROWS if t in whole else late[t])
    for period, rows in touched.items():
        if rows >= LATE_ROWS:
            con.execute(f"delete from compacted where table_name = '{table}' and period_ms = {period}")
    for period in sorted({tier.period_of(t)[0] for t in whole | late.keys() if tier.compacted_of(t)[0] not in began}):
        known = con.execute(
            f"update clustered set is_late = is_clustered, touched_ms = {as_of_ms} "
            f"where table_name = '{table}' and period_ms = {period} returning 1"
        ).fetchone()
        if known is None:
            con.execute(f"insert into clustered values ('{table}', {period}, false, false, {as_of_ms})")


def note_dropped(con: duckdb.DuckDBPyConnection, table: str, before_ms: int) -> None:
    """Record that rows before a time were deleted."""
    for state in ("clustered", "compacted"):
        con.execute(f"delete from {state} where table_name = '{table}' and period_ms < {before_ms}")


def waits(con: duckdb.DuckDBPyConnection, served: Served, as_of_ms: int) -> bool:
    """Whether a period or a history table of this replica has to be clustered or compacted by now."""
    for table in served.tables:
        if _finished(con, table, as_of_ms):
            return True
        if table.tier.compacted and _to_compact(con, table.name, table.tier, as_of_ms):
            return True
    return any(history.read_by and not _is_of_month(con, name, as_of_ms) for name, history in served.histories.items())


def cluster_finished(con: duckdb.DuckDBPyConnection, served: Served, as_of_ms: int) -> tuple[int, bool]:
    """Rewrite finished periods in the readers' order. Returns how many, and whether none is left and one of them had
    ended shortly before: then all that was written since the period before can be merged."""
    started, count, ended = time.monotonic(), 0, False
    for table in served.tables:
        for start, end, is_clustered in _finished(con, table, as_of_ms):
            if time.monotonic() - started > CLUSTER_BUDGET_S:
                return count, False
            _rewrite(con, table.name, f"t >= {start} and t < {end}", table.order)
            con.execute(
                f"update clustered set is_clustered = true, is_late = false where table_name = '{table.name}' "
                f"and period_ms = {start}"
            )
            count += 1
            ended = ended or (not is_clustered and end + RECLUSTER_AFTER_MS > as_of_ms)
    return count, ended


def _finished(con: duckdb.DuckDBPyConnection, table: Table, as_of_ms: int) -> list[tuple[int, int, bool]]:
    """Start and end of the table's finished periods that are not in order, and whether they were before."""
    waiting = con.execute(
        f"select period_ms, is_clustered, touched_ms from clustered where table_name = '{table.name}' "
        "and (not is_clustered or is_late) order by 1"
    ).fetchall()
    finished = []
    for start, is_clustered, touched_ms in waiting:
        end = table.tier.period_of(start)[1]
        if end + RECLUSTER_AFTER_MS <= as_of_ms:
            is_ready = touched_ms + QUIET_MS <= as_of_ms
        else:
            is_ready = not is_clustered and end + CLUSTER_AFTER_MS <= as_of_ms
        if is_ready:
            finished.append((start, end, is_clustered))
    return finished


def compact_some(con: duckdb.DuckDBPyConnection, served: Served, as_of_ms: int) -> int:
    """Compact some coins of a long period and of a history table; returns the number of rewrites."""
    started, count = time.monotonic(), 0
    for table in served.tables:
        if table.tier.compacted:
            count += _compact_tier(con, table.name, table.tier, table.order, as_of_ms, started)
    return count + _compact_histories(con, served, as_of_ms, started)


def _rewrite(con: duckdb.DuckDBPyConnection, table: str, where: str, order: str) -> None:
    con.execute(f"create or replace temp table taken as select * from {table} where {where}")
    con.execute(f"delete from {table} where {where}")
    con.execute(f"insert into {table} select * from taken order by {order}")
    con.execute("drop table taken")


def _compact_tier(
    con: duckdb.DuckDBPyConnection, table: str, tier: Tier, order: str, as_of_ms: int, started: float
) -> int:
    lead = order.partition(",")[0]  # the column by whose values the work is divided
    coins: list[Any] = []
    count = 0
    for start, end, begun in _to_compact(con, table, tier, as_of_ms):
        through, is_done = begun or "", False
        if begun is None:
            con.execute(f"insert into compacted values ('{table}', {start}, '', false)")
        coins = coins or _coins(con, lead)
        where = f"t >= {start} and t < {end}"
        (rows,) = con.execute(f"select count(*) from {table} where {where}").fetchall()[0]
        at_a_time = max(1, len(coins) * COMPACT_ROWS // max(rows, 1))
        while not is_done:
            if time.monotonic() - started > COMPACT_BUDGET_S:
                return count
            first = bisect_right(coins, type(coins[0])(through)) if through else 0
            last = first + at_a_time - 1
            is_done = last >= len(coins) - 1
            after = f"{lead} > {literals(coins[first - 1])}" if first else "true"
            of = f"({after} or {lead} is null)" if is_done else f"{after} and {lead} <= {literals(coins[last])}"
            through = "" if is_done else str(coins[last])
            _rewrite(con, table, f"{where} and {of}", order)
            con.execute(
                f"update compacted set through = {literals(through)}, is_done = {is_done} "
                f"where table_name = '{table}' and period_ms = {start}"
            )
            count += 1
    return count


def _to_compact(
    con: duckdb.DuckDBPyConnection, table: str, tier: Tier, as_of_ms: int
) -> list[tuple[int, int, str | None]]:
    """Start and end of the table's long periods that are clustered but not compacted, and through which coin they are
    by now (None: not begun)."""
    done: dict[int, tuple[str, bool]] = {
        period: (through, is_done)
        for period, through, is_done in con.execute(
            f"select period_ms, through, is_done from compacted where table_name = '{table}'"
        ).fetchall()
    }
    in_order: dict[tuple[int, int], bool] = {}
    for start, clustered in con.execute(
        f"select period_ms, is_clustered and not is_late from clustered where table_name = '{table}' order by 1"
    ).fetchall():
        period = tier.compacted_of(start)
        in_order[period] = in_order.get(period, True) and clustered
    return [
        (start, end, done[start][0] if start in done else None)
        for (start, end), ready in in_order.items()
        if ready and end + COMPACT_AFTER_MS <= as_of_ms and not done.get(start, ("", False))[1]
    ]


def _coins(con: duckdb.DuckDBPyConnection, lead: str) -> list[Any]:
    return [row[0] for row in con.execute(f"select distinct {lead} from base_keys order by 1").fetchall()]


def _compact_histories(con: duckdb.DuckDBPyConnection, served: Served, as_of_ms: int, started: float) -> int:
    """Once a month, rewrite each coin's rows of the history tables together; a publish does some coins at a time."""
    month, count = _month(as_of_ms), 0
    for table, history in served.histories.items():
        known = f"from clustered where table_name = '{table}' and period_ms = {month}"
        if not history.read_by or _is_of_month(con, table, as_of_ms):
            continue
        if not con.execute(f"select 1 {known}").fetchone():
            con.execute(f"insert into clustered values ('{table}', {month}, false, false, 0)")
            con.execute(
                f"create or replace table {table}_uncompacted as "
                f"select distinct {history.read_by} from {table} order by all"
            )
        for values in con.execute(f"from {table}_uncompacted order by all").fetchall():
            if time.monotonic() - started > COMPACT_BUDGET_S:
                return count
            named = zip(history.read_by.split(", "), values, strict=True)
            where = " and ".join(f"{column} = {literals(value)}" for column, value in named)
            _rewrite(con, table, where, history.key)
            con.execute(f"delete from {table}_uncompacted where {where}")
            count += 1
        con.execute(f"drop table {table}_uncompacted")
        con.execute(f"update clustered set is_clustered = true where table_name = '{table}' and period_ms = {month}")
        con.execute(f"delete from clustered where table_name = '{table}' and period_ms < {month}")
    return count


def _is_of_month(con: duckdb.DuckDBPyConnection, table: str, as_of_ms: int) -> bool:
    known = f"from clustered where table_name = '{table}' and period_ms = {_month(as_of_ms)}"
    return con.execute(f"select 1 {known} and is_clustered").fetchone() is not None


def _month(as_of_ms: int) -> int:
    return period_at("month", as_of_ms)[0]
