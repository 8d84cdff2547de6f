"""What a publish copies into a replica: touched buckets, histories, restated ranges; and what it drops."""

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import duckdb
import pytest

from orchestration.config.clock import DAY_MS, HOUR_MS, MINUTE_MS
from orchestration.publish.replica import BASE_KEY, BASE_KEY_NOTED, STATE, copy_views
from orchestration.warehouse.served import Served, Tier
from tests.support.pipeline.marts import COINS, T0, MartWarehouse, assert_same, rows, served


def test_histories_keep_unchanged_rows_and_drop_old_ones(few: MartWarehouse) -> None:
    for minute in range(1, 4):
        few.build(T0 + minute * HOUR_MS)
        few.publish()
        assert_same(few)
    assert len(rows(served(few), "from premiums")) == 4 * len(COINS)
    for day in (7, 9):
        for _ in range(2):  # in both replicas
            few.build(T0 + day * DAY_MS)
            few.publish()
        kept = rows(served(few), f"select count(*) from wallet_liquidations where t < {T0 + 4 * HOUR_MS}")
        assert kept == [(4 if day == 7 else 0,)]
    assert len(rows(served(few), "from premiums")) == 6 * len(COINS)


def test_a_table_has_the_state_of_its_rows(few: MartWarehouse) -> None:
    """What every build touches has that of the build, what is copied as a whole that of its rows in any order."""

    def states() -> dict[str, str]:
        return dict(rows(served(few), "from table_states"))

    few.build(T0 + MINUTE_MS)
    few.publish()
    before = states()
    assert set(before) == set(few.served.names)
    with duckdb.connect(few.path) as con:
        con.execute("create table other as from market_index order by market_id desc")
        con.execute("delete from market_index; insert into market_index from other; drop table other")
    few.publish(force=True)
    assert states() == before
    few.build(T0 + 2 * MINUTE_MS)
    with duckdb.connect(few.path) as con:
        con.execute("update market_index set market_id = market_id || '2' where base = 'C3'")
    few.publish()
    after = states()
    assert {name for name in before if before[name] != after[name]} >= {"market_index", "series_base_1h", "premiums"}


def test_backfilled_rows_are_restated_in_tiers_of_an_hour_and_more(few: MartWarehouse) -> None:
    """A stretch of hours of one coin, far behind what was recorded; finer tiers and other coins stay as they are."""
    for minute in (1, 2):
        few.build(T0 + minute * MINUTE_MS)
        few.publish()
    hours = range(T0 - 40 * DAY_MS, T0 - 38 * DAY_MS, HOUR_MS)
    with duckdb.connect(few.path) as con:
        for table in (one for one in few.served.tables if one.tier.step_ms >= HOUR_MS):
            for t in sorted({hour - hour % table.tier.step_ms for hour in hours}) if table.late == "late_rows" else ():
                few.restate(con, table, t, ["C3"])
        con.execute(
            "insert into pipeline.late_ranges values (?, ?, 'v:perp:C3', 'C3', ?, ?)",
            [few.builds + 1, HOUR_MS, hours[0], hours[-1]],
        )
    few.build(T0 + 3 * MINUTE_MS)
    for _ in range(2):
        few.publish(force=True)
        assert_same(few)
        found = rows(served(few), f"select count(*), any_value(base) from series_base_1h where t < {T0}")
        assert found == [(48, "C3")]


@pytest.mark.parametrize("source", ["recorded", "backfilled"])
def test_published_ratios_are_restated_in_tiers_of_their_period_and_coarser(few: MartWarehouse, source: str) -> None:
    """Hours and days of one market's ratios, far behind what was recorded: every fact names the minute in which it was
    landed. Backfilled ones are looked for in the minutes whose backfilled rows a build read."""
    for minute in (1, 2):
        few.build(T0 + minute * MINUTE_MS)
        few.publish()
    days = range(T0 - 40 * DAY_MS, T0 - 38 * DAY_MS, DAY_MS)
    hours = range(T0 - 10 * DAY_MS, T0 - 9 * DAY_MS, HOUR_MS)
    with duckdb.connect(few.path) as con:
        for table in few.served.tables:
            width = table.tier.step_ms
            reported = [*(hours if width >= HOUR_MS else ()), *(days if width >= DAY_MS else ())]
            for t in sorted({at - at % width for at in reported}) if table.late == "late_ratios" else ():
                few.restate(con, table, t, ["C3"])
        for width, starts in ((HOUR_MS, hours), (DAY_MS, days)):
            con.execute(
                "insert into int_ratios select ?, unnest(?::bigint[]), ?, 'v:perp:C3', ?",
                [T0 + 3 * MINUTE_MS, list(starts), width, source],
            )
    few.build(T0 + 3 * MINUTE_MS)
    if source == "backfilled":
        few.publish()
        assert rows(served(few), f"select count(*) from series_ratios_1h where t < {T0}") == [(0,)], "built before"
        few.build(T0 + 4 * MINUTE_MS)
        few.write(f"insert into pipeline.past_minutes select {few.builds}, {T0 + 3 * MINUTE_MS}")
    for _ in range(2):
        few.publish(force=True)
        assert_same(few)
        for step, count in (("5m", 0), ("1h", 24), ("1d", 3)):
            found = rows(served(few), f"select count(*) from series_ratios_{step} where t < {T0}")
            assert found == [(count,)], step


def test_only_kept_periods_are_served(few: MartWarehouse) -> None:
    def short(tier: Tier) -> Tier:
        return replace(tier, keep_days=1) if tier.step in ("1m", "5m") else tier

    tables = tuple(replace(table, tier=short(table.tier)) for table in few.served.tables)
    brief = replace(few.served, tables=tables, tiers=tuple(map(short, few.served.tiers)))
    for day in range(4):
        few.build(T0 + day * DAY_MS + HOUR_MS + MINUTE_MS)
        few.publish(brief)
        few.publish(brief, force=True)
    as_of = T0 + 3 * DAY_MS + HOUR_MS + MINUTE_MS + 20_000
    assert rows(served(few), "select count(distinct t) from series_market_1d") == [(4,)]
    for tier in brief.tiers[:2]:
        assert_same(few, (tier.step,), tier.kept_from(as_of))
        assert rows(served(few), f"select min(t) >= {tier.kept_from(as_of)} from series_market_{tier.step}") == [
            (True,)
        ]
    # What lies together goes together.
    assert brief.tiers[0].kept_from(as_of) == T0 + 2 * DAY_MS


def test_a_coin_s_key_is_the_number_that_replicas_note() -> None:
    names = (
        "select md5(i::varchar) as base from range(10000) numbers(i) union all select chr(i::int) from range(1, 2000) "
        "letters(i) union all select unnest(['', null, 'BTC', 'xyz:XYZ100', '1000PEPE', '币安人生'])"
    )
    with duckdb.connect() as con:
        counted = f"select count(*), count({BASE_KEY}), count(distinct {BASE_KEY}) > 11000 from ({names})"
        assert con.execute(counted).fetchall() == [(12005, 12004, True)]
        others = f"select base from ({names}) where {BASE_KEY} is distinct from {BASE_KEY_NOTED}"
        assert con.execute(others).fetchall() == []


def test_views_are_copied_again_when_the_project_has_changed() -> None:
    """And always when somebody publishes who may have made one by hand."""
    served = cast(Served, SimpleNamespace(views=("doubled",)))
    with duckdb.connect() as con:
        con.execute(STATE)
        con.execute("attach ':memory:' as warehouse; create schema warehouse.pipeline")
        con.execute("create table warehouse.pipeline.settings (name varchar, value varchar)")
        for project, shows, changed_only, copied in (
            (None, 1, True, 1), (None, 2, True, 2), ("first", 3, True, 3), ("first", 4, True, 3),
            ("first", 4, False, 4), ("second", 5, True, 5), ("second", 6, True, 5),
        ):  # fmt: skip
            con.execute("delete from warehouse.pipeline.settings")
            if project:
                con.execute(f"insert into warehouse.pipeline.settings values ('project', '{project}')")
            con.execute(f"create or replace view warehouse.main.doubled as select {shows} as shown")
            copy_views(con, served, changed_only=changed_only)
            assert con.execute("from doubled").fetchall() == [(copied,)]
