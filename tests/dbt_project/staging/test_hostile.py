"""Hostile values in every field of all venues' bodies: each costs its own market only and is counted."""

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from sandbox.market.listing import ANCHOR_MS
from tests.dbt_project.staging.hostile import HOSTILE, changed
from tests.support.pipeline.recorder_minutes import recorder
from tests.support.pipeline.warehouse import MINUTE, Warehouse, response, seeded

AT_MS = ANCHOR_MS + 7 * 3_600_000
TIMES = (1_230_768_000_000, 4_102_444_800_000)
# Of requests for one market each, as many as are enough for every field of a list.
REQUESTS = 12
MARKETS = "select market_id, * exclude (market_id, observed_ms) from int_market_minutes"


async def _recorded() -> list[dict[str, Any]]:
    async with recorder(now_ms=AT_MS + 1000) as (_, minute):
        return [row._asdict() for row in await minute(AT_MS, 120)]


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """The simulated venues' bodies of a minute, of each kind at most a few that are of one market."""
    seen: dict[tuple[str, str], int] = {}
    kept = []
    # In one order, whichever came first: values are chosen by it.
    for row in sorted(asyncio.run(_recorded()), key=lambda row: (row["venue"], row["endpoint"], row["key"] or "")):
        kind = (row["venue"], row["endpoint"])
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= REQUESTS:
            kept.append(row)
    return kept


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return seeded(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def unchanged(warehouse: Warehouse, rows: list[dict[str, Any]]) -> dict[str, tuple[Any, ...]]:
    """The market minutes of the bodies as they are, of markets that are quoted in dollars: others follow a rate."""
    warehouse.reset().build(rows)
    assert warehouse.rows("from int_rejected") == []
    in_usd = f"{MARKETS} where market_id in (select market_id from instruments where usd_like)"
    return {row[0]: row for row in warehouse.rows(in_usd)}


def absurd(warehouse: Warehouse) -> list[tuple[str, str, int]]:
    """Columns of all tables with numbers that are not finite, and with times before 2009 or after 2099."""
    found = []
    columns = warehouse.rows("""
        select table_name, column_name, data_type
        from duckdb_columns() semi join duckdb_tables() using (schema_name, table_name)
        where schema_name = 'main' and (data_type = 'DOUBLE' or (data_type = 'BIGINT'
            and (column_name in ('t', 'ts') or ends_with(column_name, '_ms'))
            and column_name not in ('period_ms', 'connected_ms', 'frozen_ms')))
    """)
    for table, column, kind in columns:
        wrong = f'not isfinite("{column}")' if kind == "DOUBLE" else f'"{column}" not between {TIMES[0]} and {TIMES[1]}'
        number = warehouse.rows(f"select count(*) from {table} where {wrong}")[0][0]
        if number:
            found.append((table, column, number))
    return found


@settings(
    max_examples=1, deadline=None, derandomize=True, database=None, phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(seed=st.integers(0, 2**32))
def test_a_hostile_value_costs_its_own_market_and_counts(
    warehouse: Warehouse, rows: list[dict[str, Any]], unchanged: dict[str, tuple[Any, ...]], seed: int
) -> None:
    bodies, change = changed(rows, seed, list(HOSTILE))
    warehouse.reset().build(bodies)
    now = {row[0]: row for row in warehouse.rows(MARKETS)}
    named = {venue: {name for name in names if name} for venue, names in change.names.items()}
    # Hyperliquid numbers its spot pairs and names their coins in a list of its own.
    differ = [id for id, row in unchanged.items() if now.get(id) != row and "spot:@" not in id]
    untouched = [id for id in differ if not any(name in id for name in named[id.split(":")[0]])]
    assert untouched == []
    assert len(change.endpoints) > 100
    assert absurd(warehouse) == []
    limits = (
        "price not between 1e-18 and 1e12 or mark_price <= 0 or oi_base < 0 or vol24h_usd < 0 or abs(funding_8h) > 1.6"
    )
    assert warehouse.rows(f"{MARKETS} where {limits}") == []
    counted = warehouse.rows("select sum(dropped_rows + outside_values), count(distinct venue) from int_rejected")[0]
    assert counted[0] > change.values / 20
    assert counted[1] >= 12


def bar(start_ms: int) -> list[Any]:
    return [start_ms, 10.0, 11.0, 9.0, 10.5, 4]


def test_a_bar_at_the_end_of_time_costs_itself(warehouse: Warehouse) -> None:
    """A time of 2^63 - 1 overflowed when the length of the bar was added to it, and failed all venues' minutes."""
    bars = {"code": "200000", "data": [bar(AT_MS - MINUTE), bar(9_223_372_036_854_775_807)]}
    params = '{"granularity": 1}'
    warehouse.reset().build([response(AT_MS, "kucoin", "perp_bars", bars, key="XBTUSDTM", params=params)])
    assert warehouse.rows("select minute_ms, close from int_market_bars") == [(AT_MS - MINUTE, 10.5)]
    assert warehouse.rows("select venue, endpoint, dropped_rows, rows_read from int_rejected") == [
        ("kucoin", "perp_bars", 1, 2)
    ]


def test_a_bar_that_contradicts_itself_loses_its_high_and_low(warehouse: Warehouse) -> None:
    """Which of them is wrong is not known, and a price between them cannot be either: what was traded stays."""
    prices = {
        5: ("10", "11", "9", "10.5"),
        4: ("10", "9", "11", "10.5"),  # high and low exchanged
        3: ("12", "11", "9", "10.5"),
        2: ("10", "11", "10.2", "10.5"),
        1: ("10", "Infinity", "9", "10.5"),
    }
    bars = [
        [t := AT_MS - ago * MINUTE, *four, "4", t + MINUTE - 1, "40", 1, "2", "20", "0"] for ago, four in prices.items()
    ]
    warehouse.reset().build([response(AT_MS, "binance", "perp_bars", bars, key="BTCUSDT")])
    found = warehouse.rows("select open, high, low, close, volume_usd from int_market_bars order by minute_ms")
    assert found == [
        (10.0, 11.0, 9.0, 10.5, 40.0), (10.0, None, None, 10.5, 40.0), (12.0, None, None, 10.5, 40.0),
        (10.0, None, None, 10.5, 40.0), (10.0, None, 9.0, 10.5, 40.0),
    ]  # fmt: skip
    assert warehouse.rows("select outside_values, dropped_rows, reason from int_rejected") == [(7, 0, "implausible")]


def test_an_infinite_forward_costs_its_option_alone(warehouse: Warehouse) -> None:
    """A forward of 1e999 made the logarithm of strike over forward that of zero, and failed the minute."""
    options = [
        {"instId": f"BTC-USD-{day}-{strike}-C", "markVol": "0.5", "bidVol": "", "askVol": "0.6", "fwdPx": forward}
        for day, strike, forward in (
            ("271231", 90_000, "1e999"),
            ("271231", 100_000, "100000"),
            ("271230", 90_000, "90000"),
        )
    ]
    warehouse.reset().build([response(AT_MS, "okx", "option_tickers", {"code": "0", "data": options}, key="BTC-USD")])
    found = "select instrument, forward, mark_iv from int_option_snapshots order by instrument"
    assert warehouse.rows(found) == [
        ("BTC-USD-271230-90000-C", 90_000.0, 0.5),
        ("BTC-USD-271231-100000-C", 100_000.0, 0.5),
        ("BTC-USD-271231-90000-C", None, 0.5),
    ]
    assert warehouse.rows("select count(*) from int_option_smiles") == [(2,)]
    assert warehouse.rows("select outside_values, reason from int_rejected") == [(1, "implausible")]
