"""One coin is one coin: markets leave and join a coin by their prices, on small hand-made markets of one name."""

import math
from itertools import pairwise

import pytest

from tests.support.facts.identity_facts import T0, A, B, C, Prices, judge, listed
from tests.support.pipeline.warehouse import MINUTE, Warehouse, seeded

HOUR = 60
STEP = 10  # minutes from one that was recorded to the next: durations count, not the number of minutes


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return seeded(tmp_path_factory.mktemp("warehouse"))


@pytest.fixture
def warehouse(empty: Warehouse) -> Warehouse:
    return empty.reset()


def decisions(warehouse: Warehouse) -> dict[str, list[tuple[int, int | None, str, str]]]:
    """Of each market: minutes from and to, coin, reason."""
    found: dict[str, list[tuple[int, int | None, str, str]]] = {}
    for market, start, end, coin, reason in warehouse.rows(
        f"select market_id, (from_ms - {T0}) // 60000, (to_ms - {T0}) // 60000, coin, reason "
        "from int_identity order by 1, 2"
    ):
        found.setdefault(market, []).append((start, end, coin, reason))
    return found


def test_the_greater_turnover_keeps_the_name_from_the_first_minute_on(warehouse: Warehouse) -> None:
    """Three coins with one ticker on one day (CORE on 2022-11-22): no minute has their mean."""
    real = {A: (1.71, 3e6), C: (0.2172, 9e4), B: (5579.24, 2e4)}
    judge(warehouse, [0], lambda _: real)
    assert decisions(warehouse) == {
        A: [(0, None, "NEW", "name")],
        B: [(0, None, "NEW@gate", "first_price")],
        C: [(0, None, "NEW@mexc", "first_price")],
    }
    ratios = dict(warehouse.rows("select market_id, round(price_ratio, 4) from int_identity"))
    assert ratios == {A: None, B: 3262.7135, C: 0.127}


def test_a_group_outweighs_a_single_market_with_less_turnover(warehouse: Warehouse) -> None:
    """Turnover is added up over the markets that agree: 4 + 4 million against 5."""
    judge(warehouse, [0], lambda _: {A: (1.0, 4e6), B: (1.1, 4e6), C: (80.0, 5e6)})
    assert {market: rows[-1][2] for market, rows in decisions(warehouse).items()} == {A: "NEW", B: "NEW", C: "NEW@mexc"}


def test_the_holder_of_a_name_keeps_it_against_a_newcomer_with_more_turnover(warehouse: Warehouse) -> None:
    """A second coin is listed under the ticker and outgrows the first: the longer standing counts."""
    judge(warehouse, range(5), lambda _: {A: (1.0, 1e5)})
    judge(warehouse, range(5, 10), lambda _: {A: (1.0, 1e5), B: (70.0, 1e8)})
    assert decisions(warehouse) == {A: [(0, None, "NEW", "name")], B: [(5, None, "NEW@gate", "first_price")]}


def crash(n: int) -> dict[str, tuple[float, float]]:
    """A flash crash of B to a twentieth for ten minutes; C is a fifth cheaper than the others throughout."""
    return {A: (1.0, 1e6), B: (0.05 if 30 <= n < 40 else 1.0, 1e5), C: (0.8, 1e5)}


def depeg(n: int) -> dict[str, tuple[float, float]]:
    """B's quote currency falls to 0.6 USD for ten hours: its prices are 1.67 times higher."""
    return {A: (1.0, 1e6), B: (1 / 0.6 if n >= 30 else 1.0, 1e6)}


@pytest.mark.parametrize("prices", [crash, depeg])
def test_a_flash_crash_and_a_depeg_are_no_second_coin(warehouse: Warehouse, prices: Prices) -> None:
    for start in (0, 300):
        judge(warehouse, range(start, start + 300, STEP), prices)
    assert {row for rows in decisions(warehouse).values() for row in rows} == {(0, None, "NEW", "name")}


def redenomination(n: int) -> dict[str, tuple[float, float]]:
    """1000 : 1, on C after an hour, on the others a day later."""
    new = {market: n >= (HOUR if market == C else 25 * HOUR) for market in (A, B, C)}
    return {market: (1000.0 if new[market] else 1.0, 1e6) for market in (A, B, C)}


def test_a_redenomination_parts_a_market_until_the_others_follow(warehouse: Warehouse) -> None:
    """Out after six hours; back after one hour of agreement. Building again, in windows of any size, is the same."""
    for start in (0, 24 * HOUR):
        judge(warehouse, range(start, start + 24 * HOUR, STEP), redenomination)
    found = decisions(warehouse)
    assert found == {
        A: [(0, None, "NEW", "name")],
        B: [(0, None, "NEW", "name")],
        C: [
            (0, 7 * HOUR, "NEW", "name"),
            (7 * HOUR, 26 * HOUR, "NEW@mexc", "parted"),
            (26 * HOUR, None, "NEW", "agreed"),
        ],
    }
    everything = "select * from int_identity order by all"
    before = warehouse.rows(everything)
    # The newest window again, as after a crash before it was finished: the loads know of the one before.
    with warehouse.connect() as db:
        db.execute("delete from pipeline.loads where max_tick_ms = (select max(max_tick_ms) from pipeline.loads)")
    judge(warehouse, range(24 * HOUR, 48 * HOUR, STEP), redenomination)
    assert warehouse.rows(everything) == before
    # Older minutes again: decisions stay.
    judge(warehouse, range(5 * HOUR, 8 * HOUR, STEP), redenomination)
    assert warehouse.rows(everything) == before
    warehouse.reset()
    bounds = [0, 10, 7 * HOUR, 7 * HOUR + 10, 26 * HOUR, 48 * HOUR]
    for start, end in pairwise(bounds):
        judge(warehouse, range(start, end, STEP), redenomination)
    assert warehouse.rows(everything) == before


def test_a_split_of_equals_leaves_the_name_to_the_greater_turnover(warehouse: Warehouse) -> None:
    """A and B are one coin until B becomes another (a rebrand): the larger keeps the name, also when B was first."""
    judge(warehouse, [0], lambda _: {B: (1.0, 1e6)})
    for start in range(10, 490, 240):
        judge(
            warehouse,
            range(start, start + 240, STEP),
            lambda n: {A: (1.0, 3e6), B: (1.0 if n < 60 else 6.0, 1e6), C: (1.02, 1e5)},
        )
    found = decisions(warehouse)
    assert found[B] == [(0, 60 + 6 * HOUR, "NEW", "name"), (60 + 6 * HOUR, None, "NEW@gate", "parted")]
    assert [found[A][-1][2], found[C][-1][2]] == ["NEW", "NEW"]


def test_a_market_that_is_listed_again_is_judged_again(warehouse: Warehouse) -> None:
    """An old ticker that comes back as another coin is out at once; without a gap in the list it would take hours."""
    judge(warehouse, range(3), lambda _: {A: (1.0, 1e6), B: (1.0, 1e5)})
    again = listed(B, relisted_ms=T0 + 5000 * MINUTE)
    judge(warehouse, range(5000, 5003), lambda _: {A: (1.1, 1e6), B: (400.0, 1e5)}, listed(A), again)
    assert decisions(warehouse)[B] == [(0, 5000, "NEW", "name"), (5000, None, "NEW@gate", "first_price")]


def test_a_market_without_turnover_neither_leaves_nor_returns(warehouse: Warehouse) -> None:
    """The last price of a halted market stays where it was while the coin falls: that is no price."""
    judge(warehouse, range(0, 480, STEP), lambda n: {A: (1.0 if n < 5 else 0.01, 1e6), B: (1.0, 0.0)})
    assert decisions(warehouse)[B] == [(0, None, "NEW", "name")]


def test_units_and_quotes_are_converted_before_prices_are_compared(warehouse: Warehouse) -> None:
    """A thousand coins a unit, and a price in bitcoins: each market agrees; the wrong multiple does not."""
    thousand = listed("binance:perp:1000NEWUSDT", multiplier=1000.0)
    in_coins = listed("kucoin:spot:NEW-BTC", quote="BTC", usd_like=False, left_out="quote")
    wrong = listed("okx:perp:NEW-USDT-SWAP")
    bitcoin = listed("binance:spot:BTCUSDT", named_base="BTC")
    prices = {
        A: (0.02, 1e6),
        thousand["market_id"]: (20.1, 1e6),
        in_coins["market_id"]: (2e-7, 3.0),
        wrong["market_id"]: (20.0, 1e5),
        bitcoin["market_id"]: (100_000.0, 1e9),
    }
    judge(warehouse, [0], lambda _: prices, listed(A), thousand, in_coins, wrong, bitcoin)
    coins = {market: rows[-1][2] for market, rows in decisions(warehouse).items()}
    assert coins == {
        A: "NEW",
        thousand["market_id"]: "NEW",
        in_coins["market_id"]: "NEW",
        wrong["market_id"]: "NEW@okx",
        bitcoin["market_id"]: "BTC",
    }


def test_a_seed_row_ends_the_doubt(warehouse: Warehouse) -> None:
    """Once the seed names the second coin, the market is of it from the next minute on; the market is judged again."""
    judge(warehouse, [0], lambda _: {A: (1.0, 1e6), B: (70.0, 1e5)})
    judge(warehouse, [1], lambda _: {A: (1.0, 1e6), B: (70.0, 1e5)}, listed(A), listed(B, named_base="OTHER"))
    assert decisions(warehouse)[B] == [(0, 1, "NEW@gate", "first_price"), (1, None, "OTHER", "name")]


def test_the_coin_of_a_minute_is_that_of_its_time(warehouse: Warehouse) -> None:
    """Minutes before a decision keep the coin of then, whenever they are built; the first decision reaches back."""
    judge(warehouse, range(0, 480, STEP), lambda n: {A: (1.0, 1e6), B: (1.0 if n < 60 else 9.0, 1e5)})
    judge(warehouse, [480], lambda _: {A: (1.0, 1e6), B: (9.0, 1e5), C: (50.0, 1e5)})
    with warehouse.connect() as db:
        db.execute("delete from pipeline.window_minutes; delete from staged_market_state; delete from staged_bars")
        for n in (10, 410, 420, 480):
            db.execute("insert into pipeline.window_minutes (tick_ms) values (?)", [T0 + n * MINUTE])
            for market in (A, B, C):
                venue, kind, symbol = market.split(":")
                db.execute(
                    "insert into staged_market_state (tick_ms, received_ms, venue, type, kind, symbol, last_price) "
                    "values (?, ?, ?, ?, 'spot_tickers', ?, 1)",
                    [T0 + n * MINUTE, T0 + n * MINUTE, venue, kind, symbol],
                )
    warehouse.dbt("run", "--select", "int_market_minutes")
    coins = warehouse.rows(
        f"select market_id, list(base order by minute_ms) from int_market_minutes group by 1 order by 1 -- {T0}"
    )
    assert coins == [
        (A, ["NEW"] * 4),
        (B, ["NEW", "NEW", "NEW@gate", "NEW@gate"]),
        (C, ["NEW@mexc"] * 4),
    ]
    assert math.isclose(warehouse.rows("select price_ratio from int_identity where reason = 'parted'")[0][0], 9.0)
