"""Positioning, order books and index components of the simulated market: plausible, and the same in any order."""

import numpy as np
import pytest

from sandbox.derived.positioning import long_fraction, long_of_late, takers
from sandbox.market.clock import Clock
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


def test_the_many_go_against_the_price_and_the_large_with_it() -> None:
    minutes = np.arange(MINUTE - 400 * 1440, MINUTE, 240)
    coins = WORLD.universe.coin[ROWS]
    logs = WORLD.market.asset_logs(coins, minutes)
    moved = np.diff(logs, axis=1)

    def follows(kind: str) -> float:
        change = np.diff(long_fraction(WORLD, ROWS, kind, minutes), axis=1)
        return float(np.mean([np.corrcoef(moved[n], change[n])[0, 1] for n in range(len(ROWS))]))

    assert follows("accounts") < -0.3
    assert follows("top_positions") > 0.3


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
