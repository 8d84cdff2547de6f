"""Order books of the simulated market at any time."""

import math

import numpy as np
import orjson

from sandbox.market.noise import Floats, uniform
from sandbox.market.world import World

_GAP = 3e-5  # between two levels of a deep market, as a share of the price, where the tick allows it
_DEEP_USD = 5e8  # USD a day from which a market is deep; the levels of a thinner one are further apart
_WIDEST = 30.0  # times the gap of a deep market, at most
_RESTS_MS = 500  # a book does not change for so long
_LEVELS_SPAN = 8192
_DEEP = 500  # levels with the orders near the price; sizes grow up to this one
_MEAN_WEIGHT = 0.2 + 3.0 / 5.0
_WEIGHT = _MEAN_WEIGHT * (_DEEP + _DEEP**2 / 120)  # of these levels together


def ladder(world: World, row: int, levels: int, now_ms: int) -> tuple[Floats, Floats]:
    """(bids, asks), each [levels, 2] of price and size in raw base units, best first.

    The best ask is the last price and the best bid one tick below, as the tickers say; deeper levels are thicker. In a
    thin market they lie wider apart: a hundred reach a few tenths of a percent in a deep one, several in a thin one.
    """
    market, universe = world.market, world.universe
    last, tick = world.last_of(row, now_ms), 1.0 / float(universe.scale[row])
    lot = 1.0 / float(universe.lot_scale[row])
    cells = (now_ms // _RESTS_MS) * _LEVELS_SPAN + np.arange(levels)
    series = market.bar_keys[[row]][:, None]
    # A share of the day's volume rests in the deep levels, divided by weight: a level does not depend on how many are
    # requested. Where levels are further apart each is larger, so that a band around the price holds as much.
    volume_usd = float(universe.volume_usd[row])
    wider = min(max(math.sqrt(_DEEP_USD / max(volume_usd, 1.0)), 1.0), _WIDEST)
    resting = volume_usd * 0.004 * wider / float(market.quote_usd[row]) / last
    mean_gap = max(1.0, _GAP * wider * last / tick)
    sides = []
    for label, best, sign in ((71, max(last - tick, tick), -1.0), (72, max(last, 2 * tick), 1.0)):
        gaps = np.ceil(-np.log1p(-uniform(series, cells, label)[0]) * mean_gap)
        steps = np.cumsum(np.maximum(gaps, 1.0))
        prices = np.rint((best + sign * (steps - steps[0]) * tick) * universe.scale[row]) / universe.scale[row]
        weight = (0.2 + 3.0 * uniform(series, cells, label + 2)[0] ** 4) * (
            1.0 + np.minimum(np.arange(levels), _DEEP) / 60.0
        )
        sizes = np.maximum(np.rint(resting * weight / _WEIGHT / lot), 1.0) * lot
        good = prices > tick / 2
        sides.append(np.column_stack([prices[good], sizes[good]]))
    return sides[0], sides[1]


def texts(side: Floats, price: str, size: str) -> orjson.Fragment:
    """The levels of a side in JSON; one formatting call for all of them, because books are long."""
    shown = ",".join([f'["{price}","{size}"]'] * len(side)) % tuple(side.ravel().tolist())
    return orjson.Fragment(f"[{shown}]")
