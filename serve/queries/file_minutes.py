"""Series of bars older than the tiers keep minutes: read from the minutes of the archives' files.

The replica's table `minute_files` says which Parquet files have which coin. The views `file_market`, `file_base` and
`file_venue`, made on the reader's own cursor, are the replica's views of series as known at a time, over rows of these
files and of the tier of the step. A bucket that both have is that of the tier, unless it was fetched and lacks minutes.
"""

import re
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from serve.queries.as_known import VIEWS as KNOWN
from serve.queries.as_known import is_known_later
from serve.replica.catalog import Metric, Tier
from serve.replica.edition import Edition, Reader, literal
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


def minutes_held(edition: Edition, metric: Metric, base: str | None) -> Span:
    """From when to when files have minutes of the coin, for this metric; an empty span without."""
    if base is None or metric.coverage.get("family") not in FAMILIES or not is_known_later(metric):
        return Span(0, 0)
    return edition.minutes.get(base, Span(0, 0))


def is_of_files(held: Span, tier: Tier, start: int, edition: Edition) -> bool:
    """Whether a range that starts there is read from files at this step: the tier no longer has its start, or never had
    it, because finer tiers only get the last day before the recording began."""
    if tier.step_ms >= BELOW_MS or not held.start <= start < held.end:
        return False
    kept_from = edition.as_of_ms - (tier.keep_days or 0) * UNIT_MS["d"]
    return start < max(kept_from, (edition.recorded_since_ms or edition.as_of_ms) - FETCHED_MS)


def read_files(query: "SeriesQuery", db: Reader) -> None:
    """Make the views of the range, coin and step that the query reads, on the reader's own cursor."""
    if db.shown == (shown := (query.base, query.step_ms, query.span)):
        return
    (tier,) = (tier for tier in db.edition.tiers if tier.step_ms == query.step_ms)
    columns = db.rows("select column_name from duckdb_columns() where table_name = 'known_minutes'")
    names = ", ".join(column["column_name"] for column in columns)
    table = f"series_market_{tier.step}"
    of_base = db.edition.of_bases([str(query.base)], table)
    rows = f"select {names}, true as stored from {table} where {of_base} and t >= {query.start} and t < {query.end}"
    if (of_files := _read_rows(query, db)) is not None:
        db.cursor.register("of_files", of_files)
        rows += f" union all select {names}, false from of_files"
    db.cursor.execute(f"""
        create or replace temp table file_minutes as
        select * exclude (stored) from ({rows}) qualify row_number() over (
            partition by market_id, t order by source <> 'backfilled' desc, volume_n desc, stored desc
        ) = 1;
        create or replace temp view file_hours as from file_minutes where false;
        set variable asked_step_ms = {query.step_ms}
    """)
    for view in SHOWN:
        sql: str = db.value(f"select sql from duckdb_views() where view_name = '{view}'")
        db.cursor.execute(re.sub(r"\bknown_", "file_", sql.replace("CREATE VIEW", "CREATE OR REPLACE TEMP VIEW")))
    db.shown = shown


def _read_rows(query: "SeriesQuery", db: Reader) -> pa.Table | None:
    """The files' minutes in the range as rows of the query's step, one a market, with the columns of the tiers; None if
    no file has any.

    Raises Unavailable if a file that the edition names is not there.
    """
    base, folder = literal(str(query.base)), db.minutes
    assert folder
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
