"""Series older than the tiers keep them: read from the bulk files, which have every finished day of a tier, and from
the minutes of the archives' files.

The replica's tables say which files there are: `bulk_files` the versions of each table's days, `minute_files` the files
that have a coin. The views `file_market`, `file_base` and `file_venue`, made on the reader's own cursor, are the
replica's views of series as known at a time, over rows of these files and of the tier of the step. A bucket that
several have is that of the tier or the bulk file, unless it was fetched and lacks minutes.
"""

import re
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from serve.queries.as_known import VIEWS as KNOWN
from serve.queries.as_known import is_known_later
from serve.replica.catalog import Metric, Tier
from serve.replica.edition import VERSIONS, Edition, Reader, literal
from serve.replica.unavailable import Unavailable
from serve.replica.units import UNIT_MS, Span

if TYPE_CHECKING:
    from serve.queries.series_query import SeriesQuery

VIEWS = {family: view.replace("known_", "file_") for family, view in KNOWN.items()}
# Bars have these families of values, and nothing else; coarser steps have the hours that were stored.
FAMILIES = ("price", "volume", "taker", "candles")
BELOW_MS = UNIT_MS["h"]
FETCHED_MS = UNIT_MS["d"]
SHOWN = ("known_market", "known_base", "known_venue")


def is_of_files(edition: Edition, metric: Metric, base: str | None, tier: Tier, start: int) -> bool:
    """Whether a range that starts there is read from files at this step: the tier no longer has its start, or never had
    it, because finer tiers only get the last day before the recording began."""
    if base is None or tier.step_ms >= BELOW_MS or not is_known_later(metric):
        return False
    kept_from = edition.as_of_ms - (tier.keep_days or 0) * UNIT_MS["d"]
    if start < kept_from and _has(edition.bulk_spans.get(f"series_market_{tier.step}"), start):
        return True
    fetched_from = (edition.recorded_since_ms or edition.as_of_ms) - FETCHED_MS
    return _has_bars(metric) and start < max(kept_from, fetched_from) and _has(edition.minutes.get(base), start)


def _has(span: Span | None, at_ms: int) -> bool:
    return span is not None and span.start <= at_ms < span.end


def _has_bars(metric: Metric) -> bool:
    return metric.coverage.get("family") in FAMILIES


def read_files(query: "SeriesQuery", db: Reader) -> None:
    """Make the views of the range, coin and step that the query reads, on the reader's own cursor."""
    bars = _has_bars(db.edition.catalog.by_name[query.metric])
    if db.shown == (shown := (query.base, query.step_ms, query.span, bars)):
        return
    (tier,) = (tier for tier in db.edition.tiers if tier.step_ms == query.step_ms)
    columns = db.rows("select column_name from duckdb_columns() where table_name = 'known_minutes'")
    names = ", ".join(column["column_name"] for column in columns)
    table = f"series_market_{tier.step}"
    of_base = db.edition.of_bases([str(query.base)], table)
    rows = f"select {names}, 2 as rank from {table} where {of_base} and t >= {query.start} and t < {query.end}"
    if (of_bulk := _read_bulk(query, table, db)) is not None:
        db.altered().register("of_bulk", of_bulk)
        # Files of earlier versions may lack a column.
        united = f"select * from {table} where false union all by name select * from of_bulk"
        rows += f" union all select {names}, 1 from ({united})"
    if bars and (of_files := _read_minutes(query, db)) is not None:
        db.altered().register("of_files", of_files)
        rows += f" union all select {names}, 0 from of_files"
    db.altered().execute(f"""
        create or replace temp table file_minutes as
        select * exclude (rank) from ({rows}) qualify row_number() over (
            partition by market_id, t order by source <> 'backfilled' desc, volume_n desc, rank desc
        ) = 1;
        create or replace temp view file_hours as from file_minutes where false;
        set variable asked_step_ms = {query.step_ms}
    """)
    for view in SHOWN:
        sql: str = db.value(f"select sql from duckdb_views() where view_name = '{view}'")
        db.altered().execute(re.sub(r"\bknown_", "file_", sql.replace("CREATE VIEW", "CREATE OR REPLACE TEMP VIEW")))
    db.shown = shown


def _read_bulk(query: "SeriesQuery", table: str, db: Reader) -> pa.Table | None:
    """The rows of the coin in the range that the bulk files of a table have; None if there is no file of it.

    Raises Unavailable if a file that the edition names is not there.
    """
    if table not in db.edition.bulk_spans:
        return None
    assert db.bulk
    within = f"start_ms < {query.end} and end_ms > {query.start}"
    named = f"select version from bulk_files where table_name = {literal(table)} and {within} order by start_ms"
    paths = ", ".join(literal(str(db.bulk / VERSIONS / row["version"])) for row in db.rows(named))
    if not paths:
        return None
    sql = f"""
        from read_parquet([{paths}], union_by_name = true, hive_partitioning = false)
        where base = {literal(str(query.base))} and t >= {query.start} and t < {query.end}
    """
    try:
        return db.open_folder(db.bulk).execute(sql).to_arrow_table()
    except duckdb.IOException as error:
        raise Unavailable(f"the bulk files cannot be read: {error}") from error


def _read_minutes(query: "SeriesQuery", db: Reader) -> pa.Table | None:
    """The archives' minutes in the range as rows of the query's step, one a market, with the columns of the tiers; None
    if no file has any.

    Raises Unavailable if a file that the edition names is not there.
    """
    base, folder = literal(str(query.base)), db.minutes
    if folder is None or query.base not in db.edition.minutes:
        return None
    within = f"from_ms < {query.end} and to_ms > {query.start}"
    files = [row["file"] for row in db.rows(f"select distinct file from minute_files where base = {base} and {within}")]
    if not files:
        return None
    paths = ", ".join(literal(str(folder / f"file={file}" / "*.parquet")) for file in files)
    sql = f"""
        with rows as (
            select *, usd_like and open + high + low + close is not null as has_candle from read_parquet([{paths}])
            where base = {base} and t >= {query.start} and t < {query.end}
            qualify row_number() over (partition by market_id, t order by tick_ms desc, file) = 1
        )
        select
            t - t % {query.step_ms} as t, market_id, any_value(venue) as venue, any_value(type) as type,
            any_value(symbol) as symbol, any_value(quote) as quote, any_value(hip3) as hip3, any_value(base) as base,
            any_value(aggregated) as aggregated, max_by(if(usd_like, close, null), rows.t) as price,
            min_by(open, rows.t) filter (has_candle) as open, max(high) filter (has_candle) as high,
            min(low) filter (has_candle) as low, max_by(close, rows.t) filter (has_candle) as close,
            count_if(has_candle)::integer as candle_n,
            null::double as vol24h_usd, null::double as oi_usd, null::double as oi_base, null::double as funding_8h,
            0 as funding_n, null::double as liq_long_usd, null::double as liq_short_usd, 0 as liq_n,
            sum(volume_usd) as volume_usd, sum(taker_buy_usd) as taker_buy_usd, sum(taker_sell_usd) as taker_sell_usd,
            count(volume_usd)::integer as volume_n, 'backfilled' as source
        from rows group by market_id, rows.t - rows.t % {query.step_ms}
    """
    try:
        return db.open_folder(folder).execute(sql).to_arrow_table()
    except duckdb.IOException as error:
        raise Unavailable(f"the minutes of files cannot be read: {error}") from error
