"""What was known when: the views of a time answer what the tiers had then, whatever was restated since."""

import math
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.support.facts.mart_facts import MINUTE, T0, Warehouse, instrument, market, response, stream

HOUR = 60 * MINUTE
BTC, SPOT = market("binance:perp:BTCUSDT", "BTC"), market("binance:spot:BTCUSDT", "BTC")
OTHER, QUIET = market("bybit:perp:BTCUSDT", "BTC"), market("binance:perp:ETHUSDT", "ETH")
MARKETS = (BTC, SPOT, OTHER, QUIET)
WIDTHS = {"5m": 5 * MINUTE, "1h": HOUR}
VALUES = (
    "price", "volume_usd", "taker_buy_usd", "oi_usd", "funding_8h", "liq_long_usd", "liq_short_usd", "source",
)  # fmt: skip
CANDLE = ("open", "high", "low", "close", "candle_n")
OF_COINS = ("n_markets", "n_price", "n_oi", "n_funding", "n_volume", "n_taker", "n_liquidations")
# By view: the family of tiers, and the rest of its key beside the time.
FAMILIES = {
    "known_market": ("series_market", ("market_id", "base", "aggregated", *VALUES, *CANDLE)),
    "known_base": ("series_base", ("base", "type", *VALUES, *OF_COINS)),
    "known_venue": ("series_venue", ("base", "type", "venue", *VALUES, *OF_COINS)),
}
ONLY = ("touched_markets", "recording_runs", "known_*", *(f"series_*_{step}" for step in ("1m", "5m", "15m", "1h")))


class Editions:
    """Builds of one window each, and what the tiers had after each."""

    def __init__(self, folder: Path) -> None:
        self.warehouse = Warehouse(folder, built=True)
        self.warehouse.add("instruments", [instrument(identity) for identity in MARKETS])
        self.served: dict[int, dict[tuple[str, str], list[tuple[Any, ...]]]] = {}

    def build(self, as_of_ms: int, *minutes: int) -> None:
        self.warehouse.note(as_of_ms=as_of_ms)
        self.warehouse.window(minutes)
        self.warehouse.dbt("run", "--select", *ONLY, "--exclude", "config.materialized:view_in_place")
        with self.warehouse.connect() as con:
            self.served[as_of_ms] = {
                (view, step): read(con, f"{family}_{step}", columns)
                for view, (family, columns) in FAMILIES.items()
                for step in WIDTHS
            }

    def minute(self, n: int, without: str = "") -> int:
        """Observations of every market in the minute, and the bars of the one before of those that trade much."""
        at = T0 + n * MINUTE
        add = self.warehouse.add
        add("int_response_minutes", [response(at, "binance", "perp_tickers")])
        add("int_stream_minutes", [stream(at, venue, MINUTE) for venue in ("binance", "bybit")])
        for rank, identity in enumerate(MARKETS):
            if identity["venue"] != without:
                add("int_market_minutes", [{"minute_ms": at, **identity, **observed(n, rank)}])
                if identity is not QUIET and n:
                    self.bar(identity, n - 1, at, 100.0 * (rank + n))
        return at

    def bar(self, identity: dict[str, Any], n: int, at: int, volume: float, above: float = 1) -> None:
        where = f"market_id = '{identity['market_id']}' and minute_ms = {T0 + n * MINUTE}"
        self.warehouse.write(f"delete from int_market_bars where {where}")
        flows = {"volume_usd": volume, "taker_buy_usd": volume / 4, "taker_sell_usd": volume * 3 / 4}
        prices = {"open": 100.0 + n, "high": 100.0 + n + above, "low": 99.0, "close": 100.5 + n}
        row = {"minute_ms": T0 + n * MINUTE, "tick_ms": at, **identity, **flows, **prices, "source": "recorded"}
        self.warehouse.add("int_market_bars", [row])


def observed(n: int, rank: int) -> dict[str, float]:
    """Values of a market's minute."""
    values = {"price": 100.0 * rank + n, "vol24h_usd": 10.0 + rank, "oi_usd": 1000.0 * (rank + 1) + n, "oi_base": 1.0}
    return {**values, "funding_8h": 1e-4 * (rank + n)}


def read(con: duckdb.DuckDBPyConnection, table: str, columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
    return con.execute(f"select t, {', '.join(columns)} from {table} order by all").fetchall()


def known(warehouse: Warehouse, view: str, at_ms: int, width: int) -> list[tuple[Any, ...]]:
    with warehouse.connect() as con:
        con.execute(f"set variable asked_known_at_ms = {at_ms}; set variable asked_step_ms = {width}")
        return read(con, view, FAMILIES[view][1])


@pytest.fixture(scope="module")
def editions(tmp_path_factory: pytest.TempPathFactory) -> Editions:
    """A minute whose bybit part comes three editions late, bars that come late and are restated, a late liquidation,
    a market that becomes another coin's, hours of history that are then fetched again."""
    made = Editions(tmp_path_factory.mktemp("known"))
    add, built = made.warehouse.add, 1200
    made.build(made.minute(0) + built, T0)
    made.build(made.minute(4, without="bybit") + built, T0 + 4 * MINUTE)
    at = made.minute(5)
    event = {key: BTC[key] for key in ("market_id", "venue", "symbol", "base", "aggregated")}
    add("int_liquidations", [{"tick_ms": at, "ts": at - 9, "side": "long", "usd": 7.0, **event}])
    made.build(at + built, at)
    # The rest of minute 4 has come, and with it bars of a quiet market and one that says something else than before.
    rest = {"minute_ms": T0 + 4 * MINUTE, **OTHER, **observed(4, 2)}
    add("int_market_minutes", [rest])
    at = made.minute(6)
    for n in (0, 4, 5):
        made.bar(QUIET, n, at, 3.0)
    made.bar(BTC, 4, at, 999.0)
    made.bar(SPOT, 4, at, 600.0, above=2)
    made.build(at + built, T0 + 4 * MINUTE, at)
    # Hours of history of two markets, one of which has recorded minutes in one of them; then another number.
    for ago, close in ((7, 50.0), (8, 51.0)):
        at = T0 + ago * MINUTE
        add("int_response_minutes", [response(at, "binance", "history_perp_bars")])
        made.warehouse.write("delete from int_history_bars")
        prices = {"open": 49.5, "high": 60.0, "low": 40.0, "close": close}
        hours = {"step": "1h", **prices, "volume_usd": 5.0, "source": "backfilled", "tick_ms": at}
        add(
            "int_history_bars",
            [{"t": T0 - hour * HOUR, **hours, **without_quote(row)} for hour in (0, 1, 2) for row in (BTC, QUIET)],
        )
        made.build(at + built, at)
    # A market leaves the coin: its minutes of now are another coin's.
    made.warehouse.write(
        f"update int_market_minutes set base = 'BTC@bybit' where venue = 'bybit' and minute_ms = {T0 + 6 * MINUTE}"
    )
    made.build(made.minute(9) + built, T0 + 6 * MINUTE, T0 + 9 * MINUTE)
    return made


def without_quote(identity: dict[str, Any]) -> dict[str, Any]:
    return {key: identity[key] for key in ("market_id", "venue", "type", "symbol", "base")}


@pytest.mark.parametrize("view", FAMILIES)
@pytest.mark.requirement("series:known")
def test_a_view_of_a_time_has_what_the_tiers_had_then(editions: Editions, view: str) -> None:
    states = set()
    for as_of_ms, tiers in editions.served.items():
        for step, width in WIDTHS.items():
            # At its time, and until the next edition.
            for at_ms in (as_of_ms, as_of_ms + 1000):
                found, served = known(editions.warehouse, view, at_ms, width), tiers[view, step]
                assert len(found) == len(served), (view, step, as_of_ms)
                for row, then in zip(found, served, strict=True):
                    assert all(map(same, row, then)), (step, as_of_ms, row, then)
            states.add((step, str(served)))
    steps = [step for step, _ in states]
    # Hours of history change no step finer than an hour.
    assert (steps.count("1h"), steps.count("5m")) == (len(editions.served), len(editions.served) - 2)


def same(one: Any, other: Any) -> bool:
    both = isinstance(one, float) and isinstance(other, float)
    return math.isclose(one, other, rel_tol=1e-12) if both else one == other


def test_only_what_was_served_and_changed_has_earlier_versions(editions: Editions) -> None:
    rows = editions.warehouse.rows(
        "select market_id, (t - ?) // 60000, len(earlier) from series_market_1m where earlier is not null order by all",
        T0,
    )
    assert rows == [
        ("binance:perp:BTCUSDT", 4, 2),  # its liquidation came one edition late, another bar of it two
        ("binance:spot:BTCUSDT", 4, 1),  # only the high of its bar is another
        ("bybit:perp:BTCUSDT", 4, 1),  # its bar was served before its observation
        ("bybit:perp:BTCUSDT", 6, 1),
    ]
    hours = editions.warehouse.rows("select market_id, len(earlier) from series_market_1h where earlier is not null")
    assert len(hours) == 4


def test_before_the_first_edition_nothing_is_known(editions: Editions) -> None:
    assert known(editions.warehouse, "known_base", T0 + 1199, WIDTHS["5m"]) == []
