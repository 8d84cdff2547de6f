"""Copies the rows that builds touched into a replica file and deletes the rows that are too old to be served.

Everything here runs on connections whose main database is the replica and that have the warehouse attached as
`warehouse`; the minute's rows are copied by several, and all else by the publish's own, in one transaction. The order
of rows on disk is decided in `clustering`.
"""

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import NamedTuple

import duckdb

from orchestration.config.clock import DAY_MS, HOUR_MS
from orchestration.publish.clustering import (
    Touched,
    note_dropped,
    note_filled,
    note_histories,
    note_touched,
    periods_to_fill,
)
from orchestration.warehouse.served import History, Served, Table
from orchestration.warehouse.watermark import RANGE_MS
from orchestration.warehouse.writer import literals

# A hash of a coin's name: filtering by this number is ten times as fast as by the name. It is the same in all editions
# and compresses well in clustered rows. Queries compare the name too, because two coins may have the same hash.
# `md5_number_lower` is a macro that makes a text of bits and a number of that, which takes five times as long as this:
# an eighth of the CPU of filling a replica.
BASE_KEY = "((md5_number(base) >> 64)::ubigint % 4294967291)::uinteger"
# As replicas note what their keys are, whatever they were computed with.
BASE_KEY_NOTED = "(md5_number_lower(base) % 4294967291)::uinteger"
KEYED = f"*, {BASE_KEY} as base_key"
# Up to this many buckets are listed as literals in a query, which is cheaper than a join.
LITERALS = 20
STATE = """
create table if not exists publish_state (build_id bigint, finished_ms bigint, columns varchar);
create table if not exists edition (
    edition_id bigint, as_of_ms bigint, published_ms bigint, recorded_since_ms bigint, build_id bigint);
create table if not exists catalog (metric varchar, definition json);
create table if not exists tiers (step varchar, step_ms bigint, keep_days integer);
create table if not exists base_keys (base varchar, base_key uinteger);
create table if not exists table_states (name varchar, state varchar);
create table if not exists copied_views (project varchar);
"""


def copy_views(con: duckdb.DuckDBPyConnection, served: Served, *, changed_only: bool = False) -> None:
    """Copy the warehouse's views. Their SQL names no database, so that they read the replica's tables. With
    `changed_only`, those of the project that the last build ran are left as they are: replacing them takes as long as
    copying a tier, and a build makes views only of a project that has changed."""
    settings = "warehouse.pipeline.settings where name = 'project'"
    project, copied = (
        con.execute(f"select max({column}) from {table}").fetchall()[0][0]
        for column, table in (("value", settings), ("project", "copied_views"))
    )
    if changed_only and project and project == copied:
        return
    names = f"[{literals(*served.views)}]"
    found = con.execute(
        f"select sql from duckdb_views() where database_name = 'warehouse' and list_contains({names}, view_name) "
        f"order by list_position({names}, view_name)"
    ).fetchall()
    for (sql,) in found:
        con.execute(sql.replace("CREATE VIEW", "create or replace view", 1))
    con.execute("delete from copied_views")
    con.execute(f"insert into copied_views values ({literals(project)})")


def copy_small(con: duckdb.DuckDBPyConnection, served: Served, without: Collection[str] = ()) -> None:
    """Copy the tables that are replaced as a whole in every edition, and the hashes of the coins' names."""
    for table in served.snapshots:
        if table not in without:
            copy_snapshot(con, table)
    number_coins(con, "market_index")


def copy_snapshot(con: duckdb.DuckDBPyConnection, table: str) -> None:
    con.execute(f"create or replace table {table} as from warehouse.main.{table}")


def note_states(con: duckdb.DuckDBPyConnection, served: Served, build_id: int) -> None:
    """Note a state of each table and view, which differs if an edition changed it: of what is copied as a whole the
    digest of its rows, in any order, of the others the build, each of which touches them."""
    con.execute("delete from table_states")
    others = [*(table.name for table in served.tables), *served.views, *served.histories]
    con.execute(f"insert into table_states select unnest([{literals(*others)}]), 'build {build_id}'")
    digests = (
        f"select '{name}', concat_ws(' ', count(*), sum(hash(rows))) from {name} as rows" for name in served.snapshots
    )
    con.execute(f"insert into table_states {' union all '.join(digests)}")


def number_coins(con: duckdb.DuckDBPyConnection, table: str) -> None:
    """Store the hashes of this table's coins for readers; a coin is kept when its markets move to another coin."""
    con.execute(
        f"insert into base_keys select distinct base, {BASE_KEY} from {table} "
        "where base is not null and base not in (select base from base_keys) order by 1"
    )


class Begun(NamedTuple):
    """A replica that is open to be written, which of its tables have the newest build already, and what of the tiers
    among them was written."""

    con: duckdb.DuckDBPyConnection
    names: Collection[str]
    touched: Sequence[Touched]


def copy_touched(
    con: duckdb.DuckDBPyConnection,
    served: Served,
    after_build: int,
    as_of_ms: int,
    at_once: int,
    begun: Begun | None = None,
) -> None:
    """Replace in every tier and history table what the builds after `after_build` touched, and every table that is
    copied as a whole: `at_once` tables at a time, each of so many connections in a transaction of its own. A statement
    of few rows gains nothing from a second thread, but two statements do. What has `begun` is left out.

    Called outside of a transaction. One that dies between these transactions and the one that notes the publish leaves
    a replica that says nothing of what it got, and gets the same again.
    """
    written = begun.names if begun else ()
    tables = [table for table in served.tables if table.name not in written]
    of_ratios = [table for table in tables if table.late == "late_ratios"]
    others = [[table] for table in tables if table.late != "late_ratios"]
    parts: Iterator[Sequence[Table] | None] = iter([of_ratios, *others, None])
    [(database,)] = con.execute("select current_database()").fetchall()

    def copy_parts(own: duckdb.DuckDBPyConnection) -> list[Touched]:
        found = list[Touched]()
        # Closed in any case: a transaction that is left open would keep the file open, which is then replaced.
        with own:
            own.execute(f'use "{database}"')
            own.execute("begin")
            list_touched(own, after_build)
            # Each connection takes the next part, from one list: `next` of a list's iterator is atomic.
            for part in parts:
                if part is None:
                    copy_written(own, served, written)
                    copy_small(own, served, written)
                elif part:
                    if part is of_ratios:
                        list_late_ratios(own)
                    found += [copy_tier(own, table, as_of_ms) for table in part]
            own.execute("commit")
        return found

    with ThreadPoolExecutor(at_once) as threads:
        touched = list(threads.map(copy_parts, [con.cursor() for _ in range(at_once)]))
    con.execute("begin")
    for one in chain(begun.touched if begun else (), *touched):
        note_touched(con, one, as_of_ms)
    con.execute("commit")


def list_touched(con: duckdb.DuckDBPyConnection, after_build: int) -> None:
    """The temporary tables `built` and `past` (minutes), `late_rows` and `late_ranges` of the builds after this one.
    While a window is open, of what it builds too, once `touched_markets` is built; it must have no past minutes."""
    since = f"where build_id > {after_build}"
    con.execute(
        "create or replace temp table built as select distinct unnest(built_minutes) as t "
        f"from warehouse.pipeline.builds {since} "
        "union select tick_ms from warehouse.pipeline.window_minutes where backfilled_only is not true"
    )
    # Those of the last window, unless one is open.
    touched = "warehouse.main.touched_markets where exists (from warehouse.pipeline.window_minutes) and step"
    con.execute(
        "create or replace temp table late_rows as select distinct minute_ms as t, 60000 as step_ms, market_id, base "
        f"from (select minute_ms, market_id, base from warehouse.pipeline.late_rows {since} "
        f"union all select minute_ms, market_id, base from {touched} = '1m')"
    )
    con.execute(
        "create or replace temp table late_ranges as "
        f"select step_ms, market_id, base, from_ms, to_ms from warehouse.pipeline.late_ranges {since} "
        f"union all select {RANGE_MS}, market_id, base, minute_ms, minute_ms from {touched} <> '1m'"
    )
    fetched = f"select distinct tick_ms as t from warehouse.pipeline.past_minutes {since}"
    con.execute(f"create or replace temp table past as {fetched}")


def list_late_ratios(con: duckdb.DuckDBPyConnection) -> None:
    """The temporary table `late_ratios`."""
    # Every row of ratios has the minute in which it was landed, so the changed rows are found by it.
    ratios = "select t, period_ms as step_ms, market_id from warehouse.main.int_ratios where tick_ms in"
    con.execute(
        f"create or replace temp table late_ratios as {ratios} (select t from built) and source = 'recorded' "
        f"union {ratios} (select t from past) and source = 'backfilled'"
    )


def copy_tier(con: duckdb.DuckDBPyConnection, table: Table, as_of_ms: int) -> Touched:
    """Replace in one tier whole buckets, single late rows, and in tiers of an hour and more the ranges that were
    backfilled."""
    tier, kept_from = table.tier, table.tier.kept_from(as_of_ms)
    bucket = f"t - t % {tier.step_ms}"
    con.execute(
        f"create or replace temp table whole as select distinct {bucket} as t from built where t >= {kept_from}"
    )
    _replace(con, table, "whole", "t")
    con.execute(
        f"create or replace temp table late as select distinct {bucket} as t, {table.key} from {table.late} "
        f"where t >= {kept_from} and step_ms <= {tier.step_ms} and {bucket} not in (select t from whole)"
        if table.late
        else f"create or replace temp table late (t bigint, {table.key} varchar)"
    )
    _replace(con, table, "late", f"t, {table.key}")
    if table.late:
        _replace_ranges(con, table, kept_from)
    whole = {t for (t,) in con.execute("select t from whole").fetchall()}
    return Touched(table, whole, dict(con.execute("select t, count(*) from late group by t").fetchall()))


def copy_written(con: duckdb.DuckDBPyConnection, served: Served, without: Collection[str] = ()) -> None:
    """Replace in every history table the rows of the minutes in the temporary tables `built` and `past`."""
    for table, history in served.histories.items():
        if table not in without:
            copy_history(con, table, history)


def copy_history(con: duckdb.DuckDBPyConnection, table: str, history: History) -> None:
    key = history.key
    con.execute(
        f"create or replace temp table written as select * from warehouse.main.{table} "
        "where tick_ms in (select t from built union select t from past)"
    )
    con.execute(f"delete from {table} where ({key}) in (select ({key}) from written)")
    con.execute(f"insert into {table} from written")


def _replace(con: duckdb.DuckDBPyConnection, table: Table, touched: str, key: str) -> None:
    """Delete and insert the touched rows. With literal bounds DuckDB's zone maps skip row groups outside of them."""
    found = con.execute(f"select distinct t from {touched} order by t limit {LITERALS + 1}").fetchall()
    times = [row[0] for row in found]
    if not times:
        return
    few = len(times) <= LITERALS
    if few:
        where = f"t in ({', '.join(map(str, times))})"
    else:
        lo, hi = con.execute(f"select min(t), max(t) from {touched}").fetchall()[0]
        where = f"t between {lo} and {hi}"
    if key != "t" or not few:
        where += f" and ({key}) in (select ({key}) from {touched})"
    con.execute(f"delete from {table.name} where {where}")
    con.execute(
        f"insert into {table.name} select {KEYED} from warehouse.main.{table.name} where {where} order by {table.order}"
    )


def _replace_ranges(con: duckdb.DuckDBPyConnection, of: Table, kept_from: int) -> None:
    """Replace the rows of each market (or coin) from its first to its last backfilled bucket."""
    table, tier, key = of.name, of.tier, of.key
    if tier.step_ms < HOUR_MS:
        return
    con.execute(
        f"create or replace temp table ranges as select {key}, min(from_ms - from_ms % {tier.step_ms}) as from_ms, "
        f"max(to_ms) as to_ms from late_ranges where step_ms <= {tier.step_ms} group by {key}"
    )
    bounds = con.execute("select min(from_ms), max(to_ms) from ranges").fetchall()[0]
    if bounds[0] is None:
        return
    where = f"rows.t between {max(bounds[0], kept_from)} and {bounds[1]}"
    match = f"ranges.{key} = rows.{key} and rows.t between ranges.from_ms and ranges.to_ms"
    ordered = ", ".join(f"rows.{column}" for column in of.order.split(", "))
    con.execute(f"delete from {table} as rows using ranges where {where} and {match}")
    con.execute(
        f"insert into {table} select rows.* from (select {KEYED} from warehouse.main.{table}) as rows "
        f"join ranges on {match} where {where} order by {ordered}"
    )
    con.execute(
        f"insert into late (t) select distinct rows.t from {table} as rows join ranges on {match} where {where}"
    )


def copy_all(con: duckdb.DuckDBPyConnection, served: Served, as_of_ms: int) -> None:
    """Fill an empty replica: every period of every tier, clustered if it is finished, and the history tables."""
    for table, history in served.histories.items():
        con.execute(f"create table {table} as from warehouse.main.{table} order by {history.key}")
    _drop_old_histories(con, served, as_of_ms)
    for one in served.tables:
        tier = one.tier
        con.execute(f"create table {one.name} as select {KEYED} from warehouse.main.{one.name} limit 0")
        found = con.execute(
            f"select distinct t from warehouse.main.{one.name} where t >= {tier.kept_from(as_of_ms)}"
        ).fetchall()
        times = [t for (t,) in found]
        for start, end in periods_to_fill(tier, times, as_of_ms):
            where = f"t >= {start} and t < {end} order by {one.order}"
            con.execute(f"insert into {one.name} select {KEYED} from warehouse.main.{one.name} where {where}")
        note_filled(con, one, times, as_of_ms)
        if "base_key" in one.order:
            number_coins(con, one.name)
    note_histories(con, served, as_of_ms)


def drop_old(con: duckdb.DuckDBPyConnection, served: Served, as_of_ms: int) -> None:
    """Remove the periods that are no longer served."""
    for table in served.tables:
        if kept_from := table.tier.kept_from(as_of_ms):
            con.execute(f"delete from {table.name} where t < {kept_from}")
            note_dropped(con, table.name, kept_from)
    _drop_old_histories(con, served, as_of_ms)


def _drop_old_histories(con: duckdb.DuckDBPyConnection, served: Served, as_of_ms: int) -> None:
    for table, history in served.histories.items():
        if history.keep_days is not None:
            con.execute(f"delete from {table} where {history.time} < {as_of_ms - history.keep_days * DAY_MS}")
