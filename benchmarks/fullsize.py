"""A serving replica of any size, generated directly: as after a year of publishing, clustered in the same way.

`python -m benchmarks.fullsize FOLDER --markets 14000` writes FOLDER/serving and goes on where it was stopped.
"""

import argparse
import json
import time
from pathlib import Path

import duckdb

from orchestration.config.clock import DAY_MS
from orchestration.config.settings import Settings
from orchestration.publish.clustering import period_to_fill
from orchestration.publish.replica import KEYED, copy_views, number_coins
from orchestration.warehouse.dbt_runner.process import prepare_manifest
from orchestration.warehouse.served import Served, Table, Tier, period_at, read_served
from orchestration.warehouse.writer import FORM
from serve.replica.catalog import VENUES
from tests.support.facts.mart_facts import Warehouse
from tests.support.pipeline import kept_open
from tests.support.replica.replica import ACROSS_SQL, CATALOG, FAMILIES, TABLES_SQL
from tests.support.replica.replica_snapshots import tables_of

AS_OF_MS = 1_781_526_896_789
YEAR_D = 365
# Numbers with as many digits as venues publish, so that they compress as recorded ones do.
MARKET_SQL = """
select t, market_id, venue, type, symbol, base, 'USDT' as quote, false as hip3, true as aggregated,
    round(level * (1 + sin(t / 3e8 + i) / 20 + (hash(t, i) % 1000) / 1e5), 4)::double as price, price as open,
    round(price * 1.001, 4) as high, round(price * 0.999, 4) as low, price as close,
    round(1e6 * (1 + i % 50) + (hash(i, t) % 1000) * 100, 0)::double as vol24h_usd,
    round((hash(t + i) % 100000) * 1.37, 2)::double as volume_usd,
    round((hash(t + i) % 100000) * 0.61, 2)::double as taker_buy_usd,
    round((hash(t + i) % 100000) * 0.76, 2)::double as taker_sell_usd,
    case when type = 'perp' then round(1e5 * (1 + i % 90) * (1 + cos(t / 1e9 + i) / 10), 0) end::double as oi_usd,
    case when type = 'perp' then round(1e2 * (1 + i % 90) * (1 + cos(t / 1e9 + i) / 10), 1) end::double as oi_base,
    case when type = 'perp' then round(1e-4 * sin(t // 3600000 + i), 6) end::double as funding_8h,
    ({ms} // 60000)::integer as funding_n, funding_n as volume_n, funding_n as candle_n, funding_n as liq_n,
    t + {ms} as known_ms, t + {ms} + 60000 as bar_known_ms,
    case when type = 'perp' and i % 3 <> 0 then (hash(i, t) % 40 = 0)::int * round(i * 17.3, 1) end::double
        as liq_long_usd,
    case when type = 'perp' and i % 3 <> 0 then (hash(t, i) % 40 = 1)::int * round(i * 13.1, 1) end::double
        as liq_short_usd,
    'recorded' as source
from range({lo}, {hi}, {ms}) as buckets(t), market_list
"""
BASE_SQL = f"""
select t, base, case when grouping(type) = 0 then type else 'all' end as type,
{ACROSS_SQL} and t >= {{lo}} and t < {{hi}}
group by grouping sets ((t, base, type), (t, base))
"""
# Positioning of the perps whose venues publish it, and order books of the first 20 coins.
RATIO_SQL = """
select t, market_id, venue, base, aggregated,
    round(0.5 + sin(t / 3e8 + i) / 5 + (hash(t, i) % 1000) / 1e5, 4)::double as accounts,
    case when venue <> 'bybit' then round(0.5 + cos(t / 3e8 + i) / 5, 4) end::double as top_acct,
    case when venue <> 'bybit' then round(0.5 + cos(t / 5e8 + i) / 5, 4) end::double as top_pos,
    round(1e5 * (1 + i % 90) * (1 + cos(t / 1e9 + i) / 10), 0)::double as oi_usd,
    case when venue <> 'bybit' then round((hash(t + i) % 100000) * 0.61, 2) end::double as taker_buy_size,
    case when venue <> 'bybit' then round((hash(t + i) % 100000) * 0.76, 2) end::double as taker_sell_size,
    'recorded' as source
from range({lo}, {hi}, {ms}) as buckets(t), market_list
where type = 'perp' and venue in ('binance', 'bybit', 'okx', 'gate', 'bitget')
"""
DEPTH_SQL = """
select t, market_id, venue, base, aggregated,
    round((hash(t, i) % 100000) * 173.1, 1)::double as bid_usd,
    round((hash(i, t) % 100000) * 131.7, 1)::double as ask_usd
from range({lo}, {hi}, {ms}) as buckets(t), market_list
where type = 'perp' and venue in ('binance', 'bybit') and i < 140
"""
# Ten years of hours of the covered coins; those of the running month lie as they came.
PREMIUM_YEARS = 10
PREMIUMS_SQL = f"""
with pairs as (
    select unnest(['upbit', 'bithumb']) as exchange, base
    from (select unnest(['BTC', 'ETH', 'XRP', 'SOL']) as base union all select 'B' || range from range(20))
    union all
    select 'coinbase', unnest(['BTC', 'ETH'])
)
select exchange, base, t, t + 3540000 as minute_ms, round((1e8 + hash(t, base) % 1000000) / 10, 1) as price,
    round((6e6 + hash(base, t) % 100000) / 100, 2) as reference_price, 1400.0 + hash(t // 86400000) % 100 as usdt_price,
    1380.0 + hash(t // 86400000) % 50 as usd_rate, 'frankfurter' as rate_source, t - t % 86400000 as rate_ms,
    (hash(t, base, exchange) % 1000000) / 1e5 - 5 as premium,
    (hash(base, exchange, t) % 1000000) / 1e5 - 5 as premium_usdt,
    (hash(exchange, t, base) % 1000000) / 1e3 - 500 as gap, 'minutes' as source, t + 3600000 as tick_ms
from pairs, range({AS_OF_MS - AS_OF_MS % 3600000 - PREMIUM_YEARS * 8766 * 3600000}, {AS_OF_MS}, 3600000) as hours(t)
order by t >= {{month}}, if(t >= {{month}}, t, null), exchange, base, t
"""
# Every market is expected of all that its rows have, so that a series is compared with them.
EXPECTED_SQL = f"""
create or replace table expected_markets as
select market_id, venue, type, base, {FAMILIES} as families,
    0::bigint as from_ms, null::bigint as to_ms
from market_list
"""
# Further tables that a server reads when it opens an edition.
OPENED = {"listings": ("market_register",), "series": ("minute_files",)}
ROWS = {"series_market": MARKET_SQL, "series_base": BASE_SQL, "series_ratios": RATIO_SQL, "series_depth": DEPTH_SQL}


def build(folder: Path, markets: int, year_d: int = YEAR_D) -> Path:
    """Write the replica, or its missing parts; returns the file."""
    serving = folder / "serving"
    serving.mkdir(parents=True, exist_ok=True)
    path = serving / "replica_a.duckdb"
    with duckdb.connect(str(path), config={**FORM}) as con:
        con.execute("set memory_limit = '6GB'; set preserve_insertion_order = true")
        if not con.execute("select 1 from duckdb_tables() where table_name = 'done'").fetchone():
            _begin(con, markets)
        if con.execute("select count(*) from market_list").fetchone() != (markets,):
            raise SystemExit(f"{path} holds another number of markets: remove it, or give that number")
        served = read_served(prepare_manifest(Settings.from_env({"TIDEMARK_HOME": str(folder)})))
        _empty_tables(con, served, folder)
        for tier in dict.fromkeys(table.tier for table in served.tables):
            _fill(con, served, tier, year_d)
        month = period_at("month", AS_OF_MS)[0]
        con.execute("create table if not exists premiums as " + PREMIUMS_SQL.format(month=month))
        _finish(con, served)
        con.execute("checkpoint")
    pointer = {"replica": path.name, "edition_id": 1, "as_of_ms": AS_OF_MS, "published_ms": AS_OF_MS + 5000}
    (serving / "current.json").write_text(json.dumps(pointer))
    return path


def _begin(con: duckdb.DuckDBPyConnection, markets: int) -> None:
    """The lists: a base has seven markets, the popular ones first; five of seven are perps."""
    con.execute("begin")
    con.execute(TABLES_SQL)
    con.execute(
        f"""insert into market_list
        select i, '', case when i % 7 < 5 then 'perp' else 'spot' end, 'B' || i // 7 || 'USDT',
            'B' || i // 7, false, true, 1 + 60000 / (1 + i // 7),
            {list(VENUES)}[1 + i % {len(VENUES)}]
            || case when i % 7 < 5 then ':perp:' else ':spot:' end || 'B' || i // 7 || 'USDT' || i % 7
        from range({markets}) as numbers(i)"""
    )
    con.execute("update market_list set venue = split_part(market_id, ':', 1), symbol = split_part(market_id, ':', 3)")
    con.execute("create table done (table_name text, period bigint)")
    con.execute("commit")


def _fill(con: duckdb.DuckDBPyConnection, served: Served, tier: Tier, year_d: int) -> None:
    """Every period of each table of a tier, in clustered order, each in its own transaction."""
    days = tier.keep_days or year_d
    start = (AS_OF_MS - days * DAY_MS) // tier.step_ms * tier.step_ms
    # Sums are made from the rows of their markets.
    of_tier = sorted((table for table in served.tables if table.tier == tier), key=_family_order)
    tables = {table.name: table for table in of_tier}
    began = time.monotonic()
    while start < AS_OF_MS:
        period, end = period_to_fill(tier, start, AS_OF_MS)
        end = min(end, AS_OF_MS)
        done = con.execute("select table_name from done where period = ?", [period]).fetchall()
        for table in sorted(tables.keys() - {name for (name,) in done}, key=list(tables).index):
            rows = ROWS[_family(table)].format(step=tier.step, ms=tier.step_ms, lo=start, hi=end)
            con.execute("begin")
            # Coarser tiers do not say when a value was known.
            made = f"(select {KEYED} from ({rows}))"
            held = {name for (name, *_) in con.execute(f"describe {table}").fetchall()}
            columns = ", ".join(name for (name, *_) in con.execute(f"describe {made}").fetchall() if name in held)
            con.execute(f"insert into {table} by name select {columns} from {made} order by {tables[table].order}")
            con.execute("insert into done values (?, ?)", [table, period])
            con.execute("commit")
        start = end + (-end) % tier.step_ms
    counted = con.execute(f"select count(*) from series_market_{tier.step}").fetchone()
    print(f"{tier.step}: {counted[0] if counted else 0:,} rows, {time.monotonic() - began:.0f} s", flush=True)


def _family(table: str) -> str:
    return table.rpartition("_")[0]


def _family_order(table: Table) -> int:
    return list(ROWS).index(_family(table.name))


def _empty_tables(con: duckdb.DuckDBPyConnection, served: Served, folder: Path) -> None:
    """The tables of the tiers, as an empty warehouse has them, and the views that are computed when read, as the
    publisher copies them."""
    warehouse = Warehouse(folder)
    warehouse.build([], folder="series")
    kept_open.close(warehouse.path)
    con.execute(f"attach '{warehouse.path}' as warehouse (read_only)")
    for table in served.tables:
        made = f"select {KEYED} from warehouse.main.{table.name} limit 0"
        con.execute(f"create table if not exists {table.name} as {made}")
    copy_views(con, served)
    con.execute("detach warehouse")
    warehouse.path.unlink()


def _finish(con: duckdb.DuckDBPyConnection, served: Served) -> None:
    con.execute("begin")
    for folder, names in OPENED.items():
        for table in names:
            con.execute(f"drop table if exists {table}")
        con.execute(tables_of(f"{folder}/_{folder}.yml", *names))
    con.execute(EXPECTED_SQL)
    for table in ("market_index", "edition", "catalog", "tiers"):
        con.execute(f"delete from {table}")
    con.execute(
        "insert into market_index "
        "select market_id, venue, type, symbol, base, 'USDT', hip3, aggregated, ?, ? from market_list",
        [AS_OF_MS - YEAR_D * DAY_MS, AS_OF_MS],
    )
    number_coins(con, "market_index")
    con.execute("insert into edition values (1, ?, ?, ?, 1)", [AS_OF_MS, AS_OF_MS + 5000, AS_OF_MS - YEAR_D * DAY_MS])
    con.executemany("insert into catalog values (?, ?)", [(name, json.dumps(d)) for name, d in CATALOG.items()])
    con.executemany(
        "insert into tiers values (?, ?, ?)", [(tier.step, tier.step_ms, tier.keep_days) for tier in served.tiers]
    )
    con.execute("commit")


def main() -> None:
    """Build the replica of the arguments."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fullsize", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--markets", type=int, default=14_000)
    parser.add_argument("--days", type=int, default=YEAR_D, help="days of the tiers that are kept for ever")
    chosen = parser.parse_args()
    path = build(chosen.folder, chosen.markets, chosen.days)
    print(f"{path}: {path.stat().st_size / 1e9:.1f} GB")


if __name__ == "__main__":
    main()
