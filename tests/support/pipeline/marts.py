"""A warehouse whose marts are computed from (market, bucket, restatement), to publish from."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from orchestration.publish.edition import Edition, read_current
from orchestration.publish.publish import publish_locked
from orchestration.warehouse.served import DAY_MS, HOUR_MS, MINUTE_MS, Served, Table
from orchestration.warehouse.watermark import prepare
from tests.support.pipeline import dbt_project

SERVED = dbt_project.served()
STEPS = tuple(tier.step for tier in SERVED.tiers)
T0 = 1_772_582_400_000  # 2026-03-04 00:00 UTC, a Wednesday
COINS = [f"C{n}" for n in range(8)]


def quiet(_: str) -> None:
    """No progress lines."""


class MartWarehouse:
    """A warehouse whose marts are computed from (market, bucket, restatement), as builds would leave them."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "warehouse.duckdb")
        self.serving = folder / "serving"
        self.manifest = folder / "manifest.json"
        self.define({"price": {"title": "Price"}})
        self.builds = 0
        with duckdb.connect(self.path) as con:
            prepare(con)
            con.execute("begin")
            con.execute(
                "create table market_index as select 'v:perp:' || c as market_id, c as base from unnest(?) t(c)",
                [COINS],
            )
            con.execute("create table gaps as select 1 as start_ms")
            for table in ("markets", "liquidations", "long_short", "oi_acceleration", "market_movers"):
                con.execute(f"create table {table} as select 'C0' as base")
            con.execute("create table recording_status as select 'v' as venue")
            for table in (
                "order_book_depth", "venue_totals", "listings", "funding_percentiles", "funding_persistence",
            ):  # fmt: skip
                con.execute(f"create table {table} as select 'v' as venue")
            for table in ("option_expiries", "option_coins", "xray_index", "heatmap_verdicts"):
                con.execute(f"create table {table} as select 'C0' as base")
            con.execute("create table premiums (exchange text, base text, t bigint, premium double, tick_ms bigint)")
            con.execute(
                "create table wallet_liquidations (venue text, symbol text, t bigint, tid text, tick_ms bigint)"
            )
            con.execute("create table liquidation_events (ts bigint, base text, usd double, tick_ms bigint)")
            con.execute("create table spikes (id bigint, ts bigint, base text, tick_ms bigint)")
            con.execute("create table spike_outcomes (id bigint, horizon_min integer, tick_ms bigint)")
            con.execute("create table spike_stats (lookback text, base text, n integer, tick_ms bigint)")
            con.execute("create table altcoin_season (t bigint, version integer, value double, tick_ms bigint)")
            con.execute("create table altcoin_season_coins (t bigint, version integer, base text, tick_ms bigint)")
            con.execute("create table fear_greed (t bigint, formula_version integer, tick_ms bigint)")
            con.execute("create table xray_risk (t bigint, market_id text, band_pct double, tick_ms bigint)")
            con.execute(
                "create table liquidation_map_scores (frozen_ms bigint, horizon_h int, market_id text, tick_ms bigint)"
            )
            con.execute(
                "create table main.touched_markets (step varchar, minute_ms bigint, market_id varchar, base varchar)"
            )
            con.execute("create view suspect_rows as select * from quality.suspect_rows")
            con.execute("create table int_ratios (tick_ms bigint, t bigint, period_ms bigint, market_id varchar)")
            for table in (one.name for one in SERVED.tables):
                more = "type" if table.startswith("series_base") else "market_id"
                con.execute(f"create table {table} (t bigint, base varchar, {more} varchar, price double)")
            for view in SERVED.views:
                con.execute(
                    f"create view {view} as select t, base, avg(price) as price from main.series_base_1d group by all"
                )
            con.execute("commit")

    def define(self, metrics: dict[str, Any]) -> None:
        dbt_project.write_manifest(self.manifest, metrics)

    def build(self, *minutes: int, late: tuple[tuple[int, str], ...] = ()) -> None:
        """A finished build: whole minutes, and single coins in other minutes; every touched number changes."""
        self.builds += 1
        with duckdb.connect(self.path) as con:
            con.execute("begin")
            for table in SERVED.tables:
                for minute in minutes:
                    self.restate(con, table, minute - minute % table.tier.step_ms, COINS)
                # What is late of order books comes with ticks of its own.
                for minute, coin in late if table.late else ():
                    self.restate(con, table, minute - minute % table.tier.step_ms, [coin])
            for minute in minutes:
                self.write_histories(con, minute)
            con.execute(
                "insert into pipeline.builds values (?, ?, ?, ?, ?, ?)",
                [self.builds, 0, self.builds, max(minutes) + 20_000, list(minutes), list(minutes)],
            )
            con.execute(
                "insert into pipeline.loads values (?, 'f', ?, ?, 1, ?)",
                [str(self.builds), min(minutes), max(minutes), self.builds],
            )
            for minute, coin in late:
                con.execute(
                    "insert into pipeline.late_rows values (?, ?, ?, ?)", [self.builds, minute, f"v:perp:{coin}", coin]
                )
                told = [minutes[0], minute - minute % (5 * MINUTE_MS), 5 * MINUTE_MS, f"v:perp:{coin}"]
                con.execute("insert into int_ratios values (?, ?, ?, ?)", told)
            con.execute("commit")

    def restate(self, con: duckdb.DuckDBPyConnection, of: Table, t: int, coins: list[str]) -> None:
        table = of.name
        con.execute(f"delete from {table} where t = ? and base in (select unnest(?::varchar[]))", [t, coins])
        which = "'perp'" if of.key == "base" else "'v:perp:' || c"
        con.execute(f"insert into {table} select ?, c, {which}, ? from unnest(?) u(c)", [t, float(self.builds), coins])

    def write_histories(self, con: duckdb.DuckDBPyConnection, tick: int) -> None:
        """The hour's row of each coin anew, and one more event."""
        hour = tick - tick % HOUR_MS
        con.execute("delete from premiums where t = ?", [hour])
        con.execute(
            "insert into premiums select 'x', c, ?, ?, ? from unnest(?) u(c)", [hour, float(self.builds), tick, COINS]
        )
        con.execute("insert into wallet_liquidations values ('v', 'S', ?, ?, ?)", [tick - 5000, str(tick), tick])
        con.execute("delete from liquidation_events where tick_ms = ?", [tick])
        con.execute("insert into liquidation_events select ?, c, 1.0, ? from unnest(?) u(c)", [tick, tick, COINS])
        con.execute("insert into spikes values (?, ?, 'C0', ?)", [tick, tick - MINUTE_MS, tick])
        con.execute("insert into spike_outcomes values (?, 5, ?)", [tick - 6 * MINUTE_MS, tick])
        # Statistics are written anew: those of coins whole, those of days day by day.
        con.execute("delete from spike_stats")
        con.execute("insert into spike_stats select '7d', c, ?, ? from unnest(?) u(c)", [self.builds, tick, COINS])
        day = tick - tick % DAY_MS
        for table in ("altcoin_season", "altcoin_season_coins", "fear_greed"):
            con.execute(f"delete from {table} where t = ?", [day])
        con.execute("insert into altcoin_season values (?, 1, ?, ?)", [day, float(self.builds), tick])
        con.execute("insert into altcoin_season_coins select ?, 1, c, ? from unnest(?) u(c)", [day, tick, COINS])
        con.execute("insert into fear_greed values (?, 1, ?)", [day, tick])
        con.execute("delete from xray_risk where t = ?", [tick - tick % (5 * MINUTE_MS)])
        con.execute("insert into xray_risk values (?, 'v:perp:C0', 2, ?)", [tick - tick % (5 * MINUTE_MS), tick])
        con.execute("delete from liquidation_map_scores where frozen_ms = ?", [hour - 4 * HOUR_MS])
        con.execute("insert into liquidation_map_scores values (?, 4, 'v:perp:C0', ?)", [hour - 4 * HOUR_MS, tick])

    def write(self, sql: str) -> None:
        with duckdb.connect(self.path) as con:
            con.execute(sql)

    def publish(self, served: Served = SERVED, **options: Any) -> Edition | None:
        return publish_locked(self.path, self.serving, self.manifest, served=served, say=quiet, **options)


def served(warehouse: MartWarehouse) -> Path:
    current = read_current(warehouse.serving)
    assert current is not None
    return warehouse.serving / str(current["replica"])


def rows(database: str | Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(database), read_only=True) as con:
        return con.execute(query).fetchall()


def assert_same(warehouse: MartWarehouse, steps: Sequence[str] = STEPS, since: int = 0) -> None:
    with (
        duckdb.connect(served(warehouse), read_only=True) as replica,
        duckdb.connect(warehouse.path, read_only=True) as made,
    ):

        def same(table: str, query: str) -> None:
            assert replica.execute(query).fetchall() == made.execute(query).fetchall(), table

        for table in (one.name for one in SERVED.tables if one.tier.step in steps):
            of = f"from {table} where t >= {since} order by all"
            made_rows = made.execute(of).fetchall()
            assert replica.execute(f"select * exclude (base_key) {of}").fetchall() == made_rows, table
            # Each coin of the rows is among the numbered ones, and has its number.
            unlike = f"from {table} as rows left join base_keys as keys using (base) where rows.base is not null "
            unlike += "and rows.base_key is distinct from keys.base_key"
            assert replica.execute(unlike).fetchall() == [], table
        for table in SERVED.snapshots:
            same(table, f"from {table}")
        ((as_of_ms,),) = replica.execute("select as_of_ms from edition").fetchall()
        for table, history in SERVED.histories.items():
            kept = history.keep_days and f"where {history.time} >= {as_of_ms - history.keep_days * DAY_MS}"
            same(table, f"from {table} {kept or ''} order by all")
