"""Positioning, order books and index components of the simulated market: plausible, and the same in any order."""

from pathlib import Path

import duckdb
import numpy as np
import pytest

from sandbox.derived.positioning import long_fraction, long_of_late, takers
from sandbox.market.clock import Clock
from sandbox.market.derivatives import funding_rate
from sandbox.market.listing import ANCHOR_MS
from sandbox.market.universe import build_universe
from sandbox.market.world import build_world

WORLD = build_world(build_universe("small"), 3, Clock(fixed_ms=ANCHOR_MS))
ROWS = WORLD.universe.rows("binance", "perp")
MINUTE = ANCHOR_MS // 60_000
KINDS = ("accounts", "top_accounts", "top_positions")


@pytest.mark.parametrize("kind", KINDS)
def test_long_shares_are_bounded_and_randomly_accessible(kind: str) -> None:
    minutes = np.arange(MINUTE - 5 * 365 * 1440, MINUTE, 1440 * 7 + 5)
    shares = long_fraction(WORLD, ROWS, kind, minutes)
    assert shares.shape == (len(ROWS), len(minutes))
    assert 0.2 <= shares.min() < 0.4
    assert 0.6 < shares.max() <= 0.8
    alone = long_fraction(WORLD, ROWS[7:8], kind, minutes[3:4])
    np.testing.assert_allclose(alone[0, 0], shares[7, 3], rtol=1e-12)


def test_longs_follow_the_price_as_recorded_ones_do(recordings: Path) -> None:
    """Over four hours traders go against the price, by head more than by size; a ratio moves as far as a real one."""
    folder = f"{recordings}/history/mrezende"
    with duckdb.connect() as con:
        rows = con.execute(
            "select ln(oi_value_usd / oi) as price, global_ls_long as accounts, top_ls_acc_long as top_accounts, "
            f"top_ls_pos_long as top_positions from '{folder}_long_short_15m.parquet' "
            f"join '{folder}_oi_15m.parquet' using (open_time) order by open_time"
        ).fetchnumpy()
    minutes = np.arange(MINUTE - 400 * 1440, MINUTE, 240)
    moved = np.diff(WORLD.market.asset_logs(WORLD.universe.coin[ROWS], minutes), axis=1)
    follows = {}
    for kind in KINDS:
        recorded = rows[kind][16:] - rows[kind][:-16]
        wanted = np.corrcoef(recorded, rows["price"][16:] - rows["price"][:-16])[0, 1]
        change = np.diff(long_fraction(WORLD, ROWS, kind, minutes), axis=1)
        follows[kind] = float(np.mean([np.corrcoef(moved[n], change[n])[0, 1] for n in range(len(ROWS))]))
        assert wanted - 0.35 < follows[kind] < wanted / 2 < 0, kind
        assert recorded.std() / 1.5 < change.std() < recorded.std() * 4, kind
    assert follows["accounts"] < follows["top_positions"]


def test_longs_premiums_funding_and_dated_futures_lean_to_the_same_side() -> None:
    market, universe = WORLD.market, WORLD.universe
    minutes = np.arange(MINUTE - 400 * 1440, MINUTE, 480)
    premium = market.premium(ROWS, minutes)
    rate = funding_rate(market, ROWS, minutes, np.full(premium.shape, 8))
    far = np.abs(premium) > 1e-3
    assert far.mean() > 0.1
    assert (np.sign(premium) == np.sign(rate))[far].mean() > 0.95
    for kind in KINDS:
        longs = long_fraction(WORLD, ROWS, kind, minutes)
        assert np.mean([np.corrcoef(longs[n], premium[n])[0, 1] for n in range(len(ROWS))]) > 0.3, kind
    alive = (universe.listed < MINUTE - 60 * 1440) & (universe.delisted > MINUTE + 1440)
    futures = np.flatnonzero(alive & (universe.future > 0))
    assert len(futures)
    minutes = np.arange(MINUTE - 60 * 1440, MINUTE, 480)
    basis = market.price_logs(futures, minutes) - market.index_logs(futures, minutes)
    carry = basis / (universe.delisted[futures, None] - minutes)
    crowding = market.crowding(universe.coin[futures], minutes)
    assert min(np.corrcoef(carry[n], crowding[n])[0, 1] for n in range(len(futures))) > 0.5


def test_five_minutes_change_little() -> None:
    minutes = MINUTE - np.arange(300) * 5
    for kind in KINDS:
        steps = np.abs(np.diff(long_fraction(WORLD, ROWS, kind, minutes), axis=1))
        assert 0 < np.median(steps) < 0.005


def test_taker_volumes_are_those_of_the_bars() -> None:
    first = MINUTE - 900 * 1440 + 35
    found = takers(WORLD, ROWS[:5], first, 30)
    for n, row in enumerate(ROWS[:5].tolist()):
        bars = WORLD.bars(row, first, 150)
        np.testing.assert_allclose((found.buy + found.sell)[n].sum(), bars.volume.sum())
        np.testing.assert_allclose(found.buy_quote[n, 0], (bars.quote_volume * bars.taker_buy)[0, :5].sum())


def test_values_cached_for_all_markets_equal_those_computed_for_one() -> None:
    row, now_ms = int(ROWS[3]), ANCHOR_MS + 12_345
    alone = np.array([row])
    for kind in KINDS:
        for first in (MINUTE - 100, MINUTE - 500):  # the newest buckets, and some that are older
            minutes = np.arange(first, first + 75, 5)
            np.testing.assert_array_equal(
                long_of_late(WORLD, row, kind, minutes), long_fraction(WORLD, alone, kind, minutes)[0]
            )
    found, direct = WORLD.bars(row, MINUTE - 62, 90), WORLD.market.bars(alone, MINUTE // 60 - 2, 3)
    assert found.first_minute == MINUTE - 62
    for name in ("open", "high", "low", "close", "volume", "quote_volume", "taker_buy", "trades"):
        np.testing.assert_array_equal(getattr(found, name), getattr(direct, name)[:, 58:148])
    assert WORLD.last_of(row, now_ms) == WORLD.last(now_ms)[row]
