"""Copies the data that checks read from the landing and the served replica into a separate DuckDB file.

A copy, because checks take seconds to minutes and a replica that is being read cannot be written by a publish: it is
open only while it is copied. Nothing here needs the warehouse or its lock.
"""

import time
from dataclasses import dataclass
from pathlib import Path

import duckdb

from ingest.declaration.history import HISTORY_SQL
from ingest.landing.loads import committed_loads
from ingest.landing.store import give_access
from orchestration.config import clock
from orchestration.config.clock import DAY_MS, HOUR_MS, MINUTE_MS
from orchestration.config.settings import Settings
from orchestration.publish.edition import attached
from orchestration.quality.suites import Period
from orchestration.quality.suites.check import LIQUID_USD, MISSING_MS

# An hourly run reads a little more than an hour, so that rows that arrived late are checked once too.
LOOK_BACK_MS = {"hourly": 70 * MINUTE_MS, "daily": 2 * DAY_MS}
# A backfill's requests belong to no minute, so they are not checked for punctuality.
RECORDED = f"not {HISTORY_SQL}"
ANSWERED = "error is null and coalesce(status between 200 and 299 or status = 101, false)"
MINUTE_COLUMNS = (
    "t, market_id, venue, type, base, aggregated, price, vol24h_usd, volume_usd, taker_buy_usd, taker_sell_usd, "
    "oi_usd, oi_base, funding_8h, liq_long_usd, liq_short_usd"
)

# The columns that the checks read of tables that a replica of an earlier version does not have.
MISSING = {
    "market_losses": (
        "'' as venue, '' as type, '' as family, 0 as start_ms, 0 as end_ms, 0 as markets, 0 as lost, "
        "[]::text[] as examples"
    ),
    "quarantined_bodies": "'' as venue, 0 as tick_ms, '' as endpoint, '' as key, '' as error",
    "market_register": (
        "'' as venue, '' as market_id, '' as base, '' as named_base, "
        "[{'from_ms': 0, 'reason': '', 'price_ratio': 0.5}] as identity"
    ),
    "accuracy": (
        "'' as venue, '' as metric, 0 as t, 0.5 as median_difference, 0.5 as allowed_difference, '' as worst_market_id"
    ),
}


@dataclass(frozen=True)
class Span:
    """The checked period; `now_ms` is the clock against which freshness is measured."""

    from_ms: int
    to_ms: int
    now_ms: int

    @property
    def day_ms(self) -> int:
        return self.from_ms - DAY_MS


def collect(settings: Settings, period: Period, now_ms: int | None = None) -> tuple[Path, Span]:
    """Copy the data of a period; returns the file and the period. NothingPublishedError before the first edition."""
    at_ms = clock.now_ms() if now_ms is None else now_ms
    settings.quality.mkdir(parents=True, exist_ok=True)
    for left in settings.quality.glob("facts_*.duckdb"):
        if left.stat().st_mtime < time.time() - 3600:
            left.unlink(missing_ok=True)  # left by a killed run
    path = settings.quality / f"facts_{period}_{time.time_ns()}.duckdb"
    with duckdb.connect(str(path), config=dict(settings.quality_resources)) as con:
        con.execute("set preserve_insertion_order = false")
        with attached(con, settings.serving, "served") as current:
            newest_ms = int(current["as_of_ms"])
            step_ms = MINUTE_MS if period == "hourly" else HOUR_MS
            to_ms = newest_ms - newest_ms % step_ms + (step_ms if period == "hourly" else 0)
            span = Span(to_ms - LOOK_BACK_MS[period], to_ms, at_ms)
            if period == "hourly":
                _copy_minutes(con, span)
                _copy(con, "market_losses", f"coalesce(end_ms > {span.from_ms}, true)")
                _copy(con, "quarantined_bodies", f"tick_ms >= {span.from_ms} and state <> 'dropped'")
            else:
                _copy_hours(con, span)
                _copy(con, "accuracy", f"t >= {span.from_ms}")
                _copy(con, "market_register", "base <> named_base")
        con.execute(
            f"create table span as select {span.from_ms}::bigint as from_ms, {span.to_ms}::bigint as to_ms, "
            f"{span.day_ms}::bigint as day_ms, {span.now_ms}::bigint as now_ms"
        )
        if period == "hourly":
            _compare_venues(con)
            _copy_responses(con, settings.landing, span)
        else:
            _compare_days(con)
    return path, span


def _copy_minutes(con: duckdb.DuckDBPyConnection, span: Span) -> None:
    con.execute(
        f"create table minutes as select {MINUTE_COLUMNS} from served.series_market_1m where t >= {span.from_ms}"
    )
    con.execute(
        f"create table markets as select *, last_ms as t, last_ms < {span.to_ms - MISSING_MS} as lost "
        "from served.market_index"
    )


def _copy(con: duckdb.DuckDBPyConnection, table: str, where: str) -> None:
    """Copy rows of a served table. A replica of an earlier version may not have it: then what the checks read of it is
    empty."""
    if con.execute(f"select 1 from duckdb_tables() where table_name = '{table}'").fetchone():
        con.execute(f"create table {table} as from served.{table} where {where}")
    else:
        con.execute(f"create table {table} as select {MISSING[table]} where false")


def _copy_hours(con: duckdb.DuckDBPyConnection, span: Span) -> None:
    con.execute(f"create table hours as select {MINUTE_COLUMNS} from served.series_market_1h where t >= {span.from_ms}")
    con.execute(
        "create table bars as select market_id, count(volume_usd) as minutes from served.series_market_1m "
        f"where t >= {span.to_ms - DAY_MS} and t < {span.to_ms} group by market_id"
    )


def _compare_venues(con: duckdb.DuckDBPyConnection) -> None:
    """`coins`: the median of all venues per coin and minute. Each venue counts once."""
    con.execute(
        f"""
        create table coins as
        select
            t, base, count(price) as venues, median(price) as price, count(funding_8h) as funding_venues,
            median(funding_8h) as funding_8h, count(oi_usd) as oi_venues, sum(oi_usd) as oi_usd
        from (
            select
                t, base, venue,
                coalesce(
                    median(price) filter (price > 0 and vol24h_usd >= {LIQUID_USD}), median(price) filter (price > 0)
                ) as price,
                median(funding_8h) filter (oi_usd >= {LIQUID_USD}) as funding_8h,
                sum(oi_usd) filter (oi_usd > 0) as oi_usd
            from minutes where aggregated group by all
        )
        group by t, base
        """
    )


def _compare_days(con: duckdb.DuckDBPyConnection) -> None:
    """`days`: each market's last day and the day before, side by side."""
    con.execute(
        f"""
        create table days as
        select
            venue, any_value(type) as type, market_id, any_value(to_ms) - {
            DAY_MS
        } as from_ms, any_value(to_ms) as to_ms,
            count(*) filter (late) as hours, count(*) filter (not late) as hours_before,
            coalesce(any_value(bars.minutes), 0) as bar_minutes, sum(volume_usd) filter (late) as volume_usd,
            {
            ", ".join(
                f"max_by({column}, t) filter ({when} and {column} is not null) as {name}"
                for column, name in (("price", "price"), ("oi_usd", "oi"))
                for when, name in (("late", column), ("not late", f"{name}_before"))
            )
        },
            max_by(vol24h_usd, t) filter (late and vol24h_usd is not null) as vol24h_usd
        from (select hours.*, to_ms, t >= to_ms - {DAY_MS} as late from hours, span where t < to_ms)
        left join bars using (market_id)
        group by venue, market_id
        """
    )


def _copy_responses(con: duckdb.DuckDBPyConnection, landing: str, span: Span) -> None:
    """`responses`: the requests of the period without their bodies. `answered_before`: what succeeded at this hour a
    day ago, or in the oldest available hour before the period."""
    con.execute(
        "create table responses (venue varchar, market_id varchar, t bigint, endpoint varchar, key varchar, "
        "requested_ms bigint, received_ms bigint, answered boolean)"
    )
    con.execute("create table answered_before (venue varchar, endpoint varchar, minutes bigint)")
    loads = [(float(load.load_id), load.files) for load in committed_loads(landing, f"{span.day_ms / 1000:.7f}")]
    give_access(con, [landing])
    now = [file for made, files in loads if made * 1000 >= span.from_ms for file in files]
    if now:
        con.execute(
            f"insert into responses select venue, null, tick_ms, endpoint, key, requested_ms, received_ms, {ANSWERED} "
            f"from read_parquet($files) where tick_ms >= {span.from_ms} and {RECORDED}",
            {"files": now},
        )
    before = [file for made, files in loads if made <= loads[0][0] + 3600 for file in files]
    if before:
        con.execute(
            "insert into answered_before select venue, endpoint, count(distinct tick_ms) from read_parquet($files) "
            f"where tick_ms >= {span.day_ms} and tick_ms < {span.from_ms} and {ANSWERED} and {RECORDED} "
            "group by venue, endpoint",
            {"files": before},
        )
