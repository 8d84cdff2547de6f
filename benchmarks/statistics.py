"""The cost of the hourly and daily statistics over a year of a large universe, model by model.

`python -m benchmarks.statistics FOLDER --coins 2000 --days 460` makes the tables that they read, in FOLDER, and runs
each model as a minute's build runs it: for the first time (a year of days), in an hour that begins, and in the hour
that ends a day. A build that makes statistics takes as much longer as the column says in sum.
"""

import argparse
import os
import resource
from pathlib import Path

from dbt.adapters.duckdb.connections import DuckDBConnectionManager
from dbt.cli.main import dbtRunner

from benchmarks.fullsize import BASE_SQL, MARKET_SQL, RATIO_SQL
from serve.replica.catalog import VENUES
from tests.support.facts.mart_facts import MINUTE, T0, Warehouse, response
from tests.support.pipeline.dbt_project import RUN, manifest

HOUR, DAY = 60 * MINUTE, 1440 * MINUTE
MODELS = (
    "funding_reference", "funding_percentiles", "funding_persistence", "altcoin_season_coins", "altcoin_season",
    "fear_greed", "spike_stats",
)  # fmt: skip
PERPS_PER_COIN, MARKETS_PER_COIN = 4, 8
SPIKES_A_DAY = 3000


def fill(warehouse: Warehouse, coins: int, days: int) -> None:
    """The tables that the statistics read: for each market all days, a month of hours, and a payment every 8 hours."""
    markets = coins * MARKETS_PER_COIN
    now = T0 + 12 * HOUR + 5 * MINUTE
    with warehouse.connect() as con:
        con.execute(f"""
            create temp table market_list as
            select i::integer as i, {list(VENUES)}[1 + i % 8] as venue,
                case when i % {MARKETS_PER_COIN} < {PERPS_PER_COIN} then 'perp' else 'spot' end as type,
                'B' || i // {MARKETS_PER_COIN} || 'USDT' as symbol,
                case i // {MARKETS_PER_COIN} when 0 then 'BTC' else 'B' || i // {MARKETS_PER_COIN} end as base,
                false as hip3, true as aggregated, 1 + 60000 / (1 + i) as level,
                venue || ':' || type || ':' || symbol as market_id
            from range({markets}) as numbers(i)""")
        for step, width, back in (("1d", DAY, days * DAY), ("1h", HOUR, 30 * DAY)):
            bounds = {"step": step, "ms": width, "lo": T0 - back, "hi": now}
            con.execute(f"insert into series_market_{step} by name {MARKET_SQL.format(**bounds)}")
            if step == "1d":
                con.execute(f"insert into series_base_1d by name {BASE_SQL.format(**bounds)}")
                con.execute(f"insert into series_ratios_1d by name {RATIO_SQL.format(**bounds)}")
        con.execute(f"""
            insert into int_settlements by name
            select market_id, t as settled_ms, venue, symbol, base, 1e-4 * sin(t / 3e8 + i) as funding_rate,
                8.0 as interval_h, funding_rate as funding_8h, 'recorded' as source, t as tick_ms
            from range({T0 - days * DAY}, {now}, {8 * HOUR}) as times(t), market_list where type = 'perp';
            insert into live_markets by name
            select market_id, venue, type, symbol, base, 'USDT' as quote, false as hip3, true as listed,
                true as counted, 1e-4 as funding, {now} as funding_ms, 1e9 / (1 + i) as oi_usd
            from market_list where type = 'perp';
            insert into spikes by name
            select n as id, {now} - n * {DAY // SPIKES_A_DAY} as ts, market_id, venue, type, symbol, base, hip3,
                'volume' as kind, ['buy', 'sell'][1 + n % 2] as dir, 7.0 as sig, 1e5 as volume_usd,
                1e3 as baseline_usd, 1440 as baseline_n, 1.0 as price, 0 as tick_ms
            from range({days * SPIKES_A_DAY}) as numbers(n) join market_list on i = hash(n) % {markets};
            insert into spike_outcomes by name
            select id, ts, h as horizon_min, ts as due_ms, 'observed' as state, sin(id) / 100 as "return",
                if(dir = 'buy', "return", -"return") as directional_return, 0 as tick_ms
            from spikes, unnest([5, 15, 60]) as horizons(h)""")


def run(warehouse: Warehouse, now_ms: int) -> dict[str, float]:
    """Seconds of each model in a build with this newest minute."""
    warehouse.add("int_response_minutes", [response(now_ms, "binance", "perp_tickers")])
    warehouse.note(as_of_ms=now_ms)
    warehouse.build([now_ms], folder="gaps")
    folder = warehouse.path.parent
    paths = ("--target-path", str(folder / "target"), "--log-path", str(folder / "logs"))
    os.environ["TIDEMARK_WAREHOUSE"] = str(warehouse.path)
    outcome = dbtRunner(manifest=manifest()).invoke(["run", "--threads", "1", "--select", *MODELS, *RUN, *paths])
    DuckDBConnectionManager.close_all_connections()  # type: ignore[no-untyped-call]
    if not outcome.success:
        raise SystemExit(str(outcome.exception))
    return {result.node.name: result.execution_time for result in outcome.result}  # type: ignore[union-attr]


def main() -> None:
    """Fill, run three times, print seconds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.statistics", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--coins", type=int, default=2000)
    parser.add_argument("--days", type=int, default=460)
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    warehouse = Warehouse(chosen.folder)
    warehouse.build([])
    fill(warehouse, chosen.coins, chosen.days)
    # A window of several minutes, or of an hour's first minute, uses all threads; these use one.
    noon = T0 + 12 * HOUR + 5 * MINUTE
    measured = [run(warehouse, noon), run(warehouse, noon + HOUR), run(warehouse, noon + 12 * HOUR)]
    print(f"{'seconds':24}{'first':>8}{'hour':>8}{'day':>8}")
    for name in (*MODELS, "sum"):
        row = [sum(times.values()) if name == "sum" else times[name] for times in measured]
        print(f"{name:24}" + "".join(f"{seconds:8.2f}" for seconds in row))
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
