"""Publishes: the replica equals the warehouse, editions only rise, and readers are served whatever happens."""

import itertools
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from orchestration.publish import clustering
from orchestration.publish.edition import Edition, read_current
from orchestration.publish.publish import publish_locked
from orchestration.warehouse.served import DAY_MS, HOUR_MS, MINUTE_MS, Served, Table, Tier, period_at
from orchestration.warehouse.watermark import prepare
from orchestration.warehouse.writer import PipelineError, WriterBusyError
from tests.support.pipeline import dbt_project
from tests.support.pipeline.pipeline_home import polling_reader

SERVED = dbt_project.served()
STEPS = tuple(tier.step for tier in SERVED.tiers)

T0 = 1_772_582_400_000  # 2026-03-04 00:00 UTC, a Wednesday
COINS = [f"C{n}" for n in range(8)]


def quiet(_: str) -> None:
    """No progress lines."""


class Warehouse:
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
                reported = [minutes[0], minute - minute % (5 * MINUTE_MS), 5 * MINUTE_MS, f"v:perp:{coin}"]
                con.execute("insert into int_ratios values (?, ?, ?, ?)", reported)
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


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    made = Warehouse(tmp_path)
    made.build(T0)
    return made


def served(warehouse: Warehouse) -> Path:
    current = read_current(warehouse.serving)
    assert current is not None
    return warehouse.serving / str(current["replica"])


def rows(database: str | Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(database), read_only=True) as con:
        return con.execute(query).fetchall()


def assert_same(warehouse: Warehouse, steps: Sequence[str] = STEPS, since: int = 0) -> None:
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


def test_an_edition_equals_the_warehouse_and_replicas_alternate(warehouse: Warehouse) -> None:
    for minute in range(1, 7):
        late = ((T0 + (minute - 1) * MINUTE_MS, COINS[minute]),)
        warehouse.build(T0 + minute * MINUTE_MS, late=late)
        edition = warehouse.publish()
        assert edition is not None
        assert edition.edition_id == minute
        assert edition.replica == f"replica_{'ab'[(minute - 1) % 2]}.duckdb"
        assert_same(warehouse)
        row = (minute, edition.as_of_ms, edition.published_ms, T0, warehouse.builds)
        assert rows(served(warehouse), "from edition") == [row]
    current = json.loads((warehouse.serving / "current.json").read_text())
    assert set(current) == {"replica", "edition_id", "as_of_ms", "published_ms"}
    assert current["as_of_ms"] == T0 + 6 * MINUTE_MS + 20_000


def test_histories_keep_unchanged_rows_and_drop_old_ones(warehouse: Warehouse) -> None:
    for minute in range(1, 4):
        warehouse.build(T0 + minute * HOUR_MS)
        warehouse.publish()
        assert_same(warehouse)
    assert len(rows(served(warehouse), "from premiums")) == 4 * len(COINS)
    for day in (7, 9):
        for _ in range(2):  # in both replicas
            warehouse.build(T0 + day * DAY_MS)
            warehouse.publish()
        kept = rows(served(warehouse), f"select count(*) from wallet_liquidations where t < {T0 + 4 * HOUR_MS}")
        assert kept == [(4 if day == 7 else 0,)]
    assert len(rows(served(warehouse), "from premiums")) == 6 * len(COINS)


def test_catalog_and_tiers_are_part_of_the_edition(warehouse: Warehouse) -> None:
    warehouse.publish()
    assert rows(served(warehouse), "select metric, definition ->> 'title' from catalog") == [("price", "Price")]
    assert rows(served(warehouse), "select step, keep_days from tiers where step in ('1m', '1d') order by 1") == [
        ("1d", None),
        ("1m", 7),
    ]
    warehouse.define({"price": {"title": "Last price"}})
    edition = warehouse.publish()
    assert edition is not None
    assert edition.edition_id == 2
    assert rows(served(warehouse), "select definition ->> 'title' from catalog") == [("Last price",)]


def test_nothing_new_is_no_edition_unless_forced(warehouse: Warehouse) -> None:
    assert warehouse.publish() is not None
    assert warehouse.publish() is None
    forced = warehouse.publish(force=True)
    assert forced is not None
    assert forced.edition_id == 2
    assert_same(warehouse)


def test_nothing_built_is_no_edition(tmp_path: Path) -> None:
    assert publish_locked(str(tmp_path / "none.duckdb"), tmp_path, tmp_path / "none.json", say=quiet) is None
    assert Warehouse(tmp_path).publish() is None


def test_an_interrupted_build_is_not_published(warehouse: Warehouse) -> None:
    with duckdb.connect(warehouse.path) as con:
        con.execute("insert into pipeline.window_ticks values (1)")
    with pytest.raises(PipelineError, match="did not finish"):
        warehouse.publish()


def test_late_rows_restate_clustered_periods(warehouse: Warehouse) -> None:
    """Finished hours are ordered by coin; a late row goes in, and the hour is in order again two hours on."""
    for minute in (0, 10, *range(30, 4 * 60, 30)):
        warehouse.build(T0 + minute * MINUTE_MS)
        warehouse.publish()
    warehouse.build(T0 + 4 * HOUR_MS, late=((T0 + 5 * MINUTE_MS, "C3"), (T0 + 10 * MINUTE_MS, "C7")))
    for step in range(2):
        warehouse.publish(force=True)
        assert_same(warehouse)
        hours = rows(
            served(warehouse),
            "select period_ms, is_clustered, is_late from clustered where table_name = 'series_market_1m' order by 1",
        )
        assert hours[:2] == [(T0, True, False), (T0 + HOUR_MS, True, False)], step
        assert hours[-1] == (T0 + 4 * HOUR_MS, False, False)
        stored = rows(
            served(warehouse), f"select base, t from series_market_1m where t < {T0 + HOUR_MS} order by rowid"
        )
        assert stored == sorted(stored)


def test_a_finished_day_of_minutes_is_brought_together(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clustered hour by hour, then compacted for the whole day: some coins per publish, in each replica separately."""
    clock = itertools.count()
    monkeypatch.setattr(clustering, "COMPACT_ROWS", 4 * 3)
    monkeypatch.setattr(clustering, "LATE_ROWS", 2)
    of_day = f"from series_market_1m where t < {T0 + DAY_MS} order by rowid"
    state = f"select through, is_done from compacted where table_name = 'series_market_1m' and period_ms = {T0}"

    def published() -> list[tuple[Any, ...]]:
        """Publish; how far the day of the served replica is compacted."""
        warehouse.publish(force=True)
        assert_same(warehouse)
        return rows(served(warehouse), state)

    def is_compacted() -> bool:
        lying = rows(served(warehouse), f"select base, t {of_day}")
        return lying == sorted(lying)

    for hour in (0, 2, 23):
        warehouse.build(T0 + hour * HOUR_MS)
    warehouse.publish()
    warehouse.build(T0 + DAY_MS + HOUR_MS)
    assert published() == [], "not all of it is clustered, and late bars may still come"
    assert not is_compacted()

    warehouse.build(T0 + DAY_MS + 3 * HOUR_MS)
    with monkeypatch.context() as patch:
        patch.setattr(clustering, "time", SimpleNamespace(monotonic=lambda: next(clock) / 8))
        begun = until(published, lambda found: bool(found) and found[0][0] != "")
        assert begun == [("C3", False)], "some coins at a time"
    for _ in range(2):  # both replicas
        until(published, lambda found: found == [("", True)])
        assert is_compacted()
    # A late row is read where it lies; a whole minute begins the day again.
    warehouse.build(T0 + DAY_MS + 3 * HOUR_MS, late=((T0 + 2 * HOUR_MS, "C3"),))
    assert published() == [("", True)]
    assert not is_compacted()
    warehouse.build(T0 + 4 * HOUR_MS, T0 + DAY_MS + 4 * HOUR_MS)
    until(published, lambda found: found == [("", True)])
    assert is_compacted()


def until(
    act: Callable[[], list[tuple[Any, ...]]], reached: Callable[[list[tuple[Any, ...]]], bool]
) -> list[tuple[Any, ...]]:
    for _ in range(20):
        if reached(found := act()):
            return found
    raise AssertionError(found)


def test_a_replica_made_anew_lies_as_one_that_grew(warehouse: Warehouse) -> None:
    for hour in (1, 2, 3, 30):
        warehouse.build(T0 + hour * HOUR_MS)
    warehouse.publish()
    lying = rows(served(warehouse), f"select base, t from series_market_1m where t < {T0 + DAY_MS} order by rowid")
    assert len(lying) > 2 * len(COINS)
    assert lying == sorted(lying)
    done = "select period_ms, is_done from compacted where table_name = 'series_market_1m'"
    assert rows(served(warehouse), done) == [(T0, True)]


def test_a_coin_s_premiums_are_brought_together_when_a_month_has_ended(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hours come one after the other, all coins in each. A publish compacts what its time allows, the next one more."""
    order = "select base, t from premiums order by rowid"
    for hour in range(0, 9, 3):
        warehouse.build(T0 + hour * HOUR_MS)
        warehouse.publish()
        warehouse.publish(force=True)
    stored = rows(served(warehouse), order)
    assert stored != sorted(stored)
    april, clock, left = T0 + 40 * DAY_MS, itertools.count(), list[int]()
    monkeypatch.setattr(clustering, "time", SimpleNamespace(monotonic=lambda: next(clock) / 9))
    compacted = "select count(*) from clustered where table_name = 'premiums' and is_clustered"
    waiting = "select count(*) from duckdb_tables() where table_name = 'premiums_uncompacted'"
    for minute in range(100):
        warehouse.build(april + minute * MINUTE_MS)
        warehouse.publish()
        everything = "select * from premiums order by all"
        assert rows(served(warehouse), everything) == rows(warehouse.path, everything)
        if rows(served(warehouse), waiting) == [(1,)]:
            left += [number for (number,) in rows(served(warehouse), "select count(*) from premiums_uncompacted")]
        elif left and rows(served(warehouse), compacted) == [(1,)]:
            break
    assert 0 < min(left) < max(left) < len(COINS)
    # The running hour is written anew each minute.
    stored = [row for row in rows(served(warehouse), order) if row[1] < april]
    assert stored == sorted(stored)
    # Until the next month what is new stays as it comes.
    warehouse.build(april + 5 * HOUR_MS)
    warehouse.publish()
    stored = rows(served(warehouse), order)
    assert stored != sorted(stored)


def test_backfilled_rows_are_restated_in_tiers_of_an_hour_and_more(warehouse: Warehouse) -> None:
    """A stretch of hours of one coin, far behind what was recorded; finer tiers and other coins stay as they are."""
    for minute in (1, 2):
        warehouse.build(T0 + minute * MINUTE_MS)
        warehouse.publish()
    hours = range(T0 - 40 * DAY_MS, T0 - 38 * DAY_MS, HOUR_MS)
    with duckdb.connect(warehouse.path) as con:
        for table in (one for one in SERVED.tables if one.tier.step_ms >= HOUR_MS):
            for t in sorted({hour - hour % table.tier.step_ms for hour in hours}) if table.late == "late_rows" else ():
                warehouse.restate(con, table, t, ["C3"])
        con.execute(
            "insert into pipeline.late_ranges values (?, ?, 'v:perp:C3', 'C3', ?, ?)",
            [warehouse.builds + 1, HOUR_MS, hours[0], hours[-1]],
        )
    warehouse.build(T0 + 3 * MINUTE_MS)
    for _ in range(2):
        warehouse.publish(force=True)
        assert_same(warehouse)
        found = rows(served(warehouse), f"select count(*), any_value(base) from series_base_1h where t < {T0}")
        assert found == [(48, "C3")]


def test_published_ratios_are_restated_in_tiers_of_their_period_and_coarser(warehouse: Warehouse) -> None:
    """Hours and days of one market's ratios, far behind what was recorded: every fact names its tick."""
    for minute in (1, 2):
        warehouse.build(T0 + minute * MINUTE_MS)
        warehouse.publish()
    days = range(T0 - 40 * DAY_MS, T0 - 38 * DAY_MS, DAY_MS)
    hours = range(T0 - 10 * DAY_MS, T0 - 9 * DAY_MS, HOUR_MS)
    with duckdb.connect(warehouse.path) as con:
        for table in SERVED.tables:
            width = table.tier.step_ms
            reported = [*(hours if width >= HOUR_MS else ()), *(days if width >= DAY_MS else ())]
            for t in sorted({at - at % width for at in reported}) if table.late == "late_ratios" else ():
                warehouse.restate(con, table, t, ["C3"])
        for width, starts in ((HOUR_MS, hours), (DAY_MS, days)):
            con.execute(
                "insert into int_ratios select ?, unnest(?::bigint[]), ?, 'v:perp:C3'",
                [T0 + 3 * MINUTE_MS, list(starts), width],
            )
    warehouse.build(T0 + 3 * MINUTE_MS)
    for _ in range(2):
        warehouse.publish(force=True)
        assert_same(warehouse)
        for step, count in (("5m", 0), ("1h", 24), ("1d", 3)):
            found = rows(served(warehouse), f"select count(*) from series_ratios_{step} where t < {T0}")
            assert found == [(count,)], step


def test_only_kept_periods_are_served(warehouse: Warehouse) -> None:
    def short(tier: Tier) -> Tier:
        return replace(tier, keep_days=1) if tier.step in ("1m", "5m") else tier

    tables = tuple(replace(table, tier=short(table.tier)) for table in SERVED.tables)
    brief = replace(SERVED, tables=tables, tiers=tuple(map(short, SERVED.tiers)))
    for day in range(4):
        warehouse.build(T0 + day * DAY_MS + HOUR_MS + MINUTE_MS)
        warehouse.publish(brief)
        warehouse.publish(brief, force=True)
    as_of = T0 + 3 * DAY_MS + HOUR_MS + MINUTE_MS + 20_000
    assert rows(served(warehouse), "select count(distinct t) from series_market_1d") == [(4,)]
    for tier in brief.tiers[:2]:
        assert_same(warehouse, (tier.step,), tier.kept_from(as_of))
        assert rows(served(warehouse), f"select min(t) >= {tier.kept_from(as_of)} from series_market_{tier.step}") == [
            (True,)
        ]
    # What lies together goes together.
    assert brief.tiers[0].kept_from(as_of) == T0 + 2 * DAY_MS


def test_periods_are_whole_in_utc() -> None:
    assert period_at("week", T0) == (T0 - 2 * DAY_MS, T0 + 5 * DAY_MS)
    assert period_at("month", T0) == (T0 - 3 * DAY_MS, T0 + 28 * DAY_MS)


def test_other_columns_or_another_warehouse_make_the_replica_anew(warehouse: Warehouse) -> None:
    warehouse.publish()
    warehouse.publish(force=True)
    with duckdb.connect(warehouse.path) as con:
        con.execute("alter table series_market_5m add column volume_usd double")
    warehouse.publish()
    assert_same(warehouse)
    with duckdb.connect(warehouse.path) as con:
        con.execute("update pipeline.builds set finished_ms = 99")
        con.execute("update series_market_1m set price = 99")
    edition = warehouse.publish()
    assert edition is not None
    assert edition.edition_id == 4
    assert_same(warehouse)


def test_a_damaged_replica_is_made_anew(warehouse: Warehouse) -> None:
    warehouse.publish()
    (warehouse.serving / "replica_b.duckdb").write_bytes(b"no database" * 1000)
    warehouse.build(T0 + MINUTE_MS)
    assert warehouse.publish() is not None
    assert_same(warehouse)


@pytest.mark.parametrize("damage", ["blocks", "cut", "gone"])
def test_a_served_replica_that_is_damaged_is_replaced_at_once(warehouse: Warehouse, damage: str) -> None:
    """Nothing new has been built, and nobody need remove a file; an edition's number is not used twice."""
    warehouse.publish()
    warehouse.build(T0 + MINUTE_MS)
    warehouse.publish()
    path = served(warehouse)
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(content[:20_000] if damage == "cut" else content[:8192] + b"x" * (len(content) - 8192))
    edition = warehouse.publish()
    assert edition is not None
    assert (edition.edition_id, edition.replica) == (3, "replica_a.duckdb")
    assert_same(warehouse)
    warehouse.build(T0 + 2 * MINUTE_MS)
    assert warehouse.publish() is not None
    assert path == served(warehouse)
    assert_same(warehouse)


def test_an_unreadable_pointer_is_replaced(warehouse: Warehouse) -> None:
    """Readers may still have the newest replica open: it stays as it is."""
    warehouse.publish()
    warehouse.build(T0 + MINUTE_MS)
    warehouse.publish()
    for edition_id, content in enumerate(("", "{}", "[]", "7", '{"replica": "replica_a.duckdb"}'), 3):
        newest = served(warehouse)
        (warehouse.serving / "current.json").write_text(content)
        with duckdb.connect(str(newest), read_only=True):
            edition = warehouse.publish()
        assert edition is not None, content
        assert edition.edition_id == edition_id, content
        assert edition.replica == f"replica_{'ab'[(edition_id - 1) % 2]}.duckdb" != newest.name, content
        assert_same(warehouse)


def test_the_served_edition_stays_while_the_warehouse_is_rebuilt(warehouse: Warehouse) -> None:
    """An interrupted rebuild has only the oldest days; every minute's build continues it."""
    warehouse.build(T0 + DAY_MS)
    warehouse.publish()
    before = (warehouse.serving / "current.json").read_text()
    warehouse.write(f"delete from pipeline.builds where as_of_ms > {T0 + HOUR_MS}")
    said: list[str] = []
    assert publish_locked(warehouse.path, warehouse.serving, warehouse.manifest, say=said.append) is None
    assert (warehouse.serving / "current.json").read_text() == before
    assert "edition 1 stays" in said[-1]
    assert warehouse.publish(force=True) is not None
    # A clock that was ahead left an edition of the future behind: it stays for nobody.
    ahead = time.time_ns() // 1_000_000 + DAY_MS
    warehouse.write(f"update pipeline.builds set as_of_ms = {ahead}, finished_ms = 9")
    assert warehouse.publish() is not None
    warehouse.write(f"update pipeline.builds set as_of_ms = {T0}, finished_ms = 10")
    edition = warehouse.publish()
    assert edition is not None
    assert edition.as_of_ms == T0


def test_one_replica_begins_as_a_copy_of_the_other(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiers are put in order once: the first replica's are, and a second or damaged one begins with those."""
    warehouse.publish()
    monkeypatch.setattr("orchestration.publish.replica.copy_all", None)
    warehouse.build(T0 + MINUTE_MS)
    second = warehouse.publish()
    assert second is not None
    assert (second.replica, second.edition_id) == ("replica_b.duckdb", 2)
    assert_same(warehouse)
    (warehouse.serving / "replica_a.duckdb").write_bytes(b"no database" * 1000)
    warehouse.build(T0 + 2 * MINUTE_MS, late=((T0, "C3"),))
    third = warehouse.publish()
    assert third is not None
    assert (third.replica, third.edition_id) == ("replica_a.duckdb", 3)
    assert_same(warehouse)
    assert not list(warehouse.serving.glob("*.new"))


def test_a_reader_of_the_other_replica_makes_publish_wait_then_fail_clearly(warehouse: Warehouse) -> None:
    warehouse.publish()
    warehouse.publish(force=True)
    warehouse.build(T0 + MINUTE_MS)
    hold = "import duckdb, sys; con = duckdb.connect(sys.argv[1], read_only=True); print(flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", hold, str(warehouse.serving / "replica_a.duckdb")]
    reader = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert reader.stdout is not None
        reader.stdout.readline()
        before = (warehouse.serving / "current.json").read_bytes()
        with pytest.raises(WriterBusyError, match=r"a reader still holds .*replica_a"):
            warehouse.publish(reader_wait_s=0.2)
        assert (warehouse.serving / "current.json").read_bytes() == before
    finally:
        reader.communicate()
    assert warehouse.publish() is not None
    assert_same(warehouse)


def _processes(warehouse: Warehouse, seam: str = "") -> Iterator["subprocess.Popen[bytes]"]:
    code = f"import os, sys\nfrom pathlib import Path\nimport orchestration.publish.publish as p\n{seam}\n"
    code += "p.publish_locked(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))"
    command = [sys.executable, "-c", code, warehouse.path, str(warehouse.serving), str(warehouse.manifest)]
    while True:
        yield subprocess.Popen(command, stdout=subprocess.DEVNULL)


def test_killed_publishes_keep_serving_and_the_next_repairs(warehouse: Warehouse) -> None:
    """`kill -9` at random points while a reader polls: it never fails, editions rise, the end equals the warehouse."""
    warehouse.publish()
    chance = random.Random(5)
    with polling_reader(warehouse.serving) as seen:
        for minute, process in zip(range(1, 25), _processes(warehouse), strict=False):
            try:
                process.wait(chance.uniform(0.05, 0.6))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            warehouse.build(T0 + minute * MINUTE_MS, late=((T0, COINS[minute % 8]),))
        assert warehouse.publish() is not None
    assert_same(warehouse)
    editions = [edition for edition, _ in seen]
    assert editions == sorted(editions)


@pytest.mark.parametrize(
    "seam",
    [
        "p.replica.copy_touched = lambda *a: os.kill(os.getpid(), 9)",
        "p.replica.drop_old = lambda *a: os.kill(os.getpid(), 9)",
        "p.point_to = lambda *a: os.kill(os.getpid(), 9)",
        "Path.replace = lambda *a: os.kill(os.getpid(), 9)",
    ],
    ids=["before the changes", "after the changes", "before the pointer", "while the pointer flips"],
)
def test_a_publish_that_dies_at_a_seam_is_repaired(seam: str, warehouse: Warehouse) -> None:
    warehouse.publish()
    warehouse.publish(force=True)
    warehouse.build(T0 + MINUTE_MS)
    before = rows(served(warehouse), "from edition")
    process = next(_processes(warehouse, seam))
    assert process.wait(60) == -9
    assert rows(served(warehouse), "from edition") == before
    edition = warehouse.publish()
    assert edition is not None
    assert edition.edition_id > 2
    assert_same(warehouse)
