"""Unpublished positions in the simulated market: who opens them, and where and when they are liquidated.

Added contracts and their side follow from the market's own prices, open interest and takers. Their leverage is drawn
from a distribution that the model does not know, and a part of the positions changes hands all the time, unobserved.
"""

from typing import NamedTuple

import numpy as np

from sandbox.market.derivatives import open_interest
from sandbox.market.listing import ANCHOR_MS
from sandbox.market.market import Bars, Market
from sandbox.market.noise import Floats, Ints
from sandbox.market.universe import build_universe

START_MS = (ANCHOR_MS // 86_400_000 + 56) * 86_400_000  # days of usual volatility: most windows can be scored
VENUE, QUOTE = "binance", "USDT"
TURNOVER = 0.02  # of the open interest, an hour
USUAL_LEVERAGE, SPREAD = 18.0, 0.85  # a lognormal distribution's
DRAWS = 2  # positions of each side a minute


class Perp(NamedTuple):
    """A perp's minutes, as a recorder sees them."""

    symbol: str
    base: str
    bars: Bars
    oi: Floats  # coins


class Liquidation(NamedTuple):
    """A position's end; `minute` counts from START_MS."""

    minute: int
    long: bool
    price: float
    usd: float


def perps(days: int, count: int) -> list[Perp]:
    """The first perps of the venue; arrays [1, minutes]."""
    universe = build_universe("small")
    market = Market(universe, 11)
    chosen = [
        row
        for row, one in enumerate(universe.listings)
        if one.venue == VENUE and one.type == "perp" and one.quote == QUOTE and one.units == 1
    ][:count]
    minutes: Ints = np.arange(days * 1440) + START_MS // 60_000
    found = []
    for row in chosen:
        one, rows = universe.listings[row], np.array([row])
        bars = market.bars(rows, START_MS // 3_600_000, days * 24)
        found.append(Perp(f"{one.base_raw}{one.quote}", one.coin, bars, open_interest(market, rows, minutes)[0]))
    return found


def liquidations(perp: Perp, seed: int) -> list[Liquidation]:
    """What is liquidated, at each position's own price, shrunk by what was closed meanwhile."""
    chance = np.random.default_rng(seed)
    bars, held = perp.bars, perp.oi
    price, low, high = bars.close[0], bars.low[0], bars.high[0]
    added = (np.maximum(np.diff(held, prepend=held[0]), 0.0) + TURNOVER / 60 * held) * price
    kept = np.minimum(np.append(held[1:] / held[:-1], 1.0), 1.0) * (1 - TURNOVER / 60)
    left = np.cumsum(np.log(kept))
    found = []
    for minute in range(len(price) - 1):
        share = float(bars.taker_buy[0, minute])
        sizes = added[minute] * chance.dirichlet(np.ones(DRAWS))
        leverage = np.exp(chance.normal(np.log(USUAL_LEVERAGE), SPREAD, DRAWS)).clip(2.5, 125)
        room = 1 / leverage - chance.uniform(0.003, 0.006, DRAWS)
        for long, part in ((True, share), (False, 1 - share)):
            for size, away in zip(sizes * part, room, strict=True):
                at = price[minute] * (1 - away if long else 1 + away)
                passed = low[minute + 1 :] <= at if long else high[minute + 1 :] >= at
                after = int(passed.argmax())
                if passed[after]:
                    end = minute + 1 + after
                    usd = float(size * np.exp(left[end - 1] - left[minute]))
                    found.append(Liquidation(end, long, float(at), usd))
    return found
