"""A warehouse whose marts are computed from (market, bucket, restatement), to publish from."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import duckdb

from orchestration.config.clock import DAY_MS, HOUR_MS, MINUTE_MS
from orchestration.publish.edition import Edition, read_current
from orchestration.publish.publish import publish_locked
from orchestration.warehouse.served import Served, Table, read_served
from orchestration.warehouse.watermark import prepare
from tests.support.pipeline import dbt_project

T0 = 1_772_582_400_000  # 2026-03-04 00:00 UTC, a Wednesday
COINS = [f"C{n}" for n in range(8)]
# A tier of each period, tables by coin and by market, late rows of both kinds, and two histories: a third of the cost.
FEW = (
    "market_index", "premiums", "wallet_liquidations", "series_market_1m", "series_market_5m", "series_base_1h",
    "series_market_1d", "series_ratios_5m", "series_ratios_1h", "series_ratios_1d",
)  # fmt: skip
# Columns of each history, and what a build of one minute writes: the rewritten rows of its hour or day, or one event.
HISTORIES = {
    "premiums": (
        "exchange text, base text, t bigint, premium double, tick_ms bigint",
        "delete from premiums where t = {hour}; insert into premiums select 'x', c, {hour}, {build}, {at} from {coins}",
    ),
    "wallet_liquidations": (
        "venue text, symbol text, t bigint, tid text, tick_ms bigint",
        "insert into wallet_liquidations values ('v', 'S', {at} - 5000, '{at}', {at})",
    ),
    "liquidation_events": (
        "ts bigint, base text, usd double, tick_ms bigint",
        "delete from liquidation_events where tick_ms = {at}; "
        "insert into liquidation_events select {at}, c, 1.0, {at} from {coins}",
    ),
    "spikes": (
        "id bigint, ts bigint, base text, tick_ms bigint",
        "insert into spikes values ({at}, {at} - 60000, 'C0', {at})",
    ),
    "spike_outcomes": (
        "id bigint, horizon_min integer, tick_ms bigint",
        "insert into spike_outcomes values ({at} - 360000, 5, {at})",
    ),
    "market_register": (
        "market_id text, base text, tick_ms bigint",
        "delete from market_register; insert into market_register select 'v:perp:' || c, c, {at} from {coins}",
    ),
    "spike_stats": (
        "lookback text, base text, n integer, tick_ms bigint",
        "delete from spike_stats; insert into spike_stats select '7d', c, {build}, {at} from {coins}",
    ),
    "altcoin_season": (
        "t bigint, version integer, value double, tick_ms bigint",
        "delete from altcoin_season where t = {day}; insert into altcoin_season values ({day}, 1, {build}, {at})",
    ),
    "altcoin_season_coins": (
        "t bigint, version integer, base text, tick_ms bigint",
        "delete from altcoin_season_coins where t = {day}; "
        "insert into altcoin_season_coins select {day}, 1, c, {at} from {coins}",
    ),
    "fear_greed": (
        "t bigint, formula_version integer, tick_ms bigint",
        "delete from fear_greed where t = {day}; insert into fear_greed values ({day}, 1, {at})",
    ),
    "xray_risk": (
        "t bigint, market_id text, band_pct double, tick_ms bigint",
        "delete from xray_risk where t = {at} - {at} % 300000; "
        "insert into xray_risk values ({at} - {at} % 300000, 'v:perp:C0', 2, {at})",
    ),
    "liquidation_map_scores": (
        "frozen_ms bigint, horizon_h int, market_id text, tick_ms bigint",
        "delete from liquidation_map_scores where frozen_ms = {hour} - 14400000; "
        "insert into liquidation_map_scores values ({hour} - 14400000, 4, 'v:perp:C0', {at})",
    ),
}
# What the pipeline and the models have beside what is served.
BESIDE = f"""
create table market_index as select 'v:perp:' || c as market_id, c as base from unnest({COINS}) u(c);
create view suspect_rows as select * from quality.suspect_rows;
create view quarantined_bodies as select * exclude (params, received_ms, file, project) from pipeline.quarantine;
create table gaps (start_ms bigint, end_ms bigint, venue varchar, endpoint varchar, reason varchar);
create table touched_markets (step varchar, minute_ms bigint, market_id varchar, base varchar);
create table int_ratios (tick_ms bigint, t bigint, period_ms bigint, market_id varchar, source varchar);
"""
# The rows are few: a second thread of DuckDB would cost more than it helps.
ONE_THREAD: dict[str, str | int] = {"threads": 1}


def quiet(_: str) -> None:
    """No progress lines."""


class MartWarehouse:
    """A warehouse whose marts are computed from (market, bucket, restatement), as builds would leave them.

    `models`: what is served of the project; all of it by default.
    """

    def __init__(self, folder: Path, models: Collection[str] | None = None) -> None:
        self.path = str(folder / "warehouse.duckdb")
        self.serving = folder / "serving"
        self.manifest = folder / "manifest.json"
        self.models = models
        self.define({"price": {"title": "Price"}})
        self.served = read_served(self.manifest)
        self.builds = 0
        with self.connection() as con:
            prepare(con)
            con.execute(f"begin; {BESIDE}")
            for table in self.served.snapshots:
                con.execute(f"create table if not exists {table} as select 'v' as venue")
            for table in self.served.histories:
                con.execute(f"create table {table} ({HISTORIES[table][0]})")
            for one in self.served.tables:
                more = "type" if one.name.startswith("series_base") else "market_id"
                con.execute(f"create table {one.name} (t bigint, base varchar, {more} varchar, price double)")
            for view in self.served.views:
                con.execute(
                    f"create view {view} as select t, base, avg(price) as price from main.series_base_1d group by all"
                )
            con.execute("commit")

    def connection(self) -> duckdb.DuckDBPyConnection:
        return duckdb.connect(self.path, config=dict(ONE_THREAD))

    def define(self, metrics: dict[str, Any]) -> None:
        dbt_project.write_manifest(self.manifest, metrics, self.models)

    def build(self, *minutes: int, late: tuple[tuple[int, str], ...] = ()) -> None:
        """A finished build: whole minutes, and single coins in other minutes; every touched number changes."""
        self.builds += 1
        with self.connection() as con:
            con.execute("begin")
            for table in self.served.tables:
                for minute in minutes:
                    self.restate(con, table, minute - minute % table.tier.step_ms, COINS)
                # What is late of order books comes with minutes of its own.
                for minute, coin in late if table.late else ():
                    self.restate(con, table, minute - minute % table.tier.step_ms, [coin])
            for minute in minutes:
                self.write_histories(con, minute)
            con.execute(
                f"insert into pipeline.builds values ({self.builds}, 0, {self.builds}, {max(minutes) + 20_000}, "
                f"{list(minutes)}, {list(minutes)})"
            )
            con.execute(
                f"insert into pipeline.loads values ('{self.builds}', 'f', {min(minutes)}, {max(minutes)}, 1, "
                f"{self.builds})"
            )
            for minute, coin in late:
                con.execute(
                    f"insert into pipeline.late_rows values ({self.builds}, {minute}, 'v:perp:{coin}', '{coin}')"
                )
                bucket = minute - minute % (5 * MINUTE_MS)
                row = f"{minutes[0]}, {bucket}, {5 * MINUTE_MS}, 'v:perp:{coin}', 'recorded'"
                con.execute(f"insert into int_ratios values ({row})")
            con.execute("commit")

    def restate(self, con: duckdb.DuckDBPyConnection, of: Table, t: int, coins: list[str]) -> None:
        which = "'perp'" if of.key == "base" else "'v:perp:' || c"
        con.execute(
            f"delete from {of.name} where t = {t} and list_contains({coins}, base); "
            f"insert into {of.name} select {t}, c, {which}, {self.builds} from unnest({coins}) u(c)"
        )

    def write_histories(self, con: duckdb.DuckDBPyConnection, at: int) -> None:
        """The rewritten row of the hour for each coin, and one more event."""
        times = {"at": at, "hour": at - at % HOUR_MS, "day": at - at % DAY_MS}
        for history in self.served.histories:
            con.execute(HISTORIES[history][1].format(**times, build=self.builds, coins=f"unnest({COINS}) u(c)"))

    def write(self, sql: str) -> None:
        with self.connection() as con:
            con.execute(sql)

    def publish(self, served: Served | None = None, **options: Any) -> Edition | None:
        of = served or self.served
        return publish_locked(self.path, self.serving, self.manifest, ONE_THREAD, served=of, report=quiet, **options)


def served(warehouse: MartWarehouse) -> Path:
    current = read_current(warehouse.serving)
    assert current is not None
    return warehouse.serving / str(current["replica"])


def rows(database: str | Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(database), read_only=True, config=dict(ONE_THREAD)) as con:
        return con.execute(query).fetchall()


def assert_same(warehouse: MartWarehouse, steps: Collection[str] | None = None, since: int = 0) -> None:
    """The served replica holds what the warehouse has: of these steps (or all), from a time on, and nothing else."""
    marts = warehouse.served
    with (
        duckdb.connect(served(warehouse), read_only=True, config=dict(ONE_THREAD)) as replica,
        duckdb.connect(warehouse.path, read_only=True, config=dict(ONE_THREAD)) as made,
    ):

        def same(table: str, query: str) -> None:
            assert replica.execute(query).fetchall() == made.execute(query).fetchall(), table

        for table in (one.name for one in marts.tables if steps is None or one.tier.step in steps):
            of = f"from {table} where t >= {since} order by all"
            made_rows = made.execute(of).fetchall()
            assert replica.execute(f"select * exclude (base_key) {of}").fetchall() == made_rows, table
            # Each coin of the rows is among the numbered ones, and has its number.
            unlike = f"from {table} as rows left join base_keys as keys using (base) where rows.base is not null "
            unlike += "and rows.base_key is distinct from keys.base_key"
            assert replica.execute(unlike).fetchall() == [], table
        for table in marts.snapshots:
            same(table, f"from {table}")
        ((as_of_ms,),) = replica.execute("select as_of_ms from edition").fetchall()
        for table, history in marts.histories.items():
            kept = history.keep_days and f"where {history.time} >= {as_of_ms - history.keep_days * DAY_MS}"
            same(table, f"from {table} {kept or ''} order by all")
