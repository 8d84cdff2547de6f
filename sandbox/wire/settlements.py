"""Past funding settlements out of the simulated market; shared by the venues' funding history endpoints."""

import numpy as np

from sandbox.market.derivatives import HOUR_MS, funding_hours, funding_rate
from sandbox.market.universe import MINUTE_MS
from sandbox.market.world import World

_CHUNK_HOURS = 24 * 90


def settlements(world: World, row: int, before_ms: int, count: int) -> list[tuple[int, float, int]]:
    """(settled ms, rate of the interval that ended then, its hours), newest first, at most `count` up to `before_ms`.

    A settlement falls on a multiple of the interval in force, counted from 00:00 UTC.
    """
    rows, found = np.array([row]), list[tuple[int, float, int]]()
    first = int(world.universe.listed[row]) // 60
    last = min(before_ms // HOUR_MS, int(world.universe.delisted[row]) // 60)
    while last > first and len(found) < count:
        start = max(first, last - _CHUNK_HOURS)
        hours = np.arange(start + 1, last + 1)
        lengths = funding_hours(world.market, rows, hours * (HOUR_MS // MINUTE_MS) - 1)[0]
        due = hours[(lengths > 0) & (hours % np.maximum(lengths, 1) == 0)][::-1][: count - len(found)]
        minutes = np.sort(due) * (HOUR_MS // MINUTE_MS) - 1
        if len(minutes):
            steps = funding_hours(world.market, rows, minutes)
            rates = funding_rate(world.market, rows, minutes, steps)
            columns = ((minutes + 1) * MINUTE_MS, rates[0], steps[0])
            found += list(zip(*(column.tolist() for column in columns), strict=True))[::-1]
        last = start
    return found
