"""Order books of the simulated market: they surround the last price, in ticks and lots, deeper by addition alone."""

import numpy as np

from sandbox.derived.ladder import ladder
from sandbox.market.clock import Clock
from sandbox.market.listing import ANCHOR_MS
from sandbox.market.universe import build_universe
from sandbox.market.world import build_world

WORLD = build_world(build_universe("small"), 3, Clock(fixed_ms=ANCHOR_MS))


ROWS = WORLD.universe.rows("binance", "perp")


def test_books_surround_the_last_price() -> None:
    now_ms = ANCHOR_MS + 12_345
    last = WORLD.last(now_ms)
    for row in ROWS[:20].tolist():
        bids, asks = ladder(WORLD, row, 500, now_ms)
        assert asks[0, 0] == last[row]
        assert bids[0, 0] < asks[0, 0]
        assert (np.diff(asks[:, 0]) > 0).all()
        assert (np.diff(bids[:, 0]) < 0).all()
        assert (asks[:, 1] > 0).all()
        assert asks[-1, 0] / asks[0, 0] > 1.003
