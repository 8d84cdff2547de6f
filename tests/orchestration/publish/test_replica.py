"""What a publish copies into a replica: touched buckets, histories, restated ranges; and what it drops."""

from dataclasses import replace

import duckdb

from orchestration.warehouse.served import DAY_MS, HOUR_MS, MINUTE_MS, Tier
from tests.support.pipeline.marts import COINS, SERVED, T0, MartWarehouse, assert_same, rows, served


def test_histories_keep_what_nobody_wrote_anew_and_lose_what_is_too_old(warehouse: MartWarehouse) -> None:
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


def test_what_history_told_is_restated_in_the_tiers_of_an_hour_and_more(warehouse: MartWarehouse) -> None:
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


def test_what_venues_told_of_a_period_is_restated_in_the_tiers_that_long_and_coarser(warehouse: MartWarehouse) -> None:
    """Hours and days of one market's ratios, far behind what was recorded: every fact names its tick."""
    for minute in (1, 2):
        warehouse.build(T0 + minute * MINUTE_MS)
        warehouse.publish()
    days = range(T0 - 40 * DAY_MS, T0 - 38 * DAY_MS, DAY_MS)
    hours = range(T0 - 10 * DAY_MS, T0 - 9 * DAY_MS, HOUR_MS)
    with duckdb.connect(warehouse.path) as con:
        for table in SERVED.tables:
            width = table.tier.step_ms
            told = [*(hours if width >= HOUR_MS else ()), *(days if width >= DAY_MS else ())]
            for t in sorted({at - at % width for at in told}) if table.late == "late_ratios" else ():
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


def test_only_kept_periods_are_served(warehouse: MartWarehouse) -> None:
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
