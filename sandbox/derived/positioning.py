"""Positioning of traders in the simulated market: long shares of accounts and positions, and taker volumes."""

from dataclasses import dataclass

import numpy as np

from sandbox.market.noise import Floats, Ints, Keys, keys, walk
from sandbox.market.world import World

_OCTAVES = ((15, 0.004), (240, 0.03), (2880, 0.12), (40_320, 0.35))
_MOODS = {  # kind: (usual lean to the long side, follows the price, follows the premium)
    "accounts": (0.35, -0.12, 0.12),  # most accounts buy falling coins
    "top_accounts": (0.20, -0.10, 0.12),
    "top_positions": (0.05, -0.05, 0.10),  # large positions do so less
}
_LATELY = np.arange(0, 60, 10)  # minutes ago
_USUALLY_CROWDED = 6e-4  # the usual deviation of a premium
_WIDTH = 0.3  # shares stay within 0.5 ± this


def _series(world: World, kind: str) -> Keys:
    def make(_: int) -> Keys:
        return keys([one.id for one in world.universe.listings], world.market.seed, "positioning", kind)

    return world.remembered(f"positioning {kind}", 0, make, 1)


def long_fraction(world: World, rows: Ints, kind: str, minutes: Ints) -> Floats:
    """The share that is long at these minutes [rows, minutes], within 0.2 and 0.8.

    `kind` is accounts (all accounts), top_accounts (of the top traders, by head) or top_positions (theirs, by size).
    Minutes are those since the epoch, in any order; a bucket's share is that at its start.
    """
    market, universe = world.market, world.universe
    usual, follows_price, follows_premium = _MOODS[kind]
    coins, where = np.unique(universe.coin[rows], return_inverse=True)
    # Traders act on where the price has been for a while, not on its last minute.
    points = np.add.outer(np.add.outer(np.array([0, -1440, -4320]), -_LATELY), minutes)
    times, when = np.unique(points, return_inverse=True)
    logs = market.asset_logs(coins, times)[:, when.ravel()].reshape(len(coins), *points.shape).mean(axis=2)
    lately, day, three_days = logs[:, 0], logs[:, 1], logs[:, 2]
    vol = np.maximum(market.minute_vol[coins], 1e-4)[:, None]
    moved = 0.5 * (lately - day) / (vol * 1440**0.5) + (lately - three_days) / (vol * 4320**0.5)
    crowded = market.premium(rows, minutes, averaged=True) / _USUALLY_CROWDED
    lean = usual + walk(_series(world, kind)[rows], minutes, _OCTAVES)
    lean = lean + follows_price * np.clip(moved, -4, 4)[where] + follows_premium * np.clip(crowded, -4, 4)
    share: Floats = 0.5 + _WIDTH * np.tanh(lean / _WIDTH * 0.6)
    return share


def long_of_late(world: World, row: int, kind: str, minutes: Ints) -> Floats:
    """`long_fraction` of one row at bucket starts; the newest are computed for all rows of the venue at once."""
    return world.of_late(f"long {kind}", row, minutes, lambda rows, at: long_fraction(world, rows, kind, at))


@dataclass(frozen=True, slots=True)
class Takers:
    """What takers bought and sold per bucket [rows, buckets], in raw base units and in quote."""

    buy: Floats
    sell: Floats
    buy_quote: Floats
    sell_quote: Floats


def takers(world: World, rows: Ints, first_minute: int, buckets: int, period_minutes: int = 5) -> Takers:
    """Taker volumes of consecutive buckets: exactly what the one-minute bars of the same minutes add up to."""
    bars = [world.bars(row, first_minute, buckets * period_minutes) for row in rows.tolist()]

    def summed(values: Floats) -> Floats:
        total: Floats = values.reshape(len(rows), buckets, period_minutes).sum(axis=2)
        return total

    base, quote, bought = (
        np.concatenate([getattr(one, name) for one in bars]) for name in ("volume", "quote_volume", "taker_buy")
    )
    return Takers(
        summed(base * bought), summed(base * (1.0 - bought)), summed(quote * bought), summed(quote * (1.0 - bought))
    )
