"""Index components of the simulated market: the spot markets of the coin, with weights that add up to one."""

import pytest

from sandbox.derived.constituents import constituents
from sandbox.market.clock import Clock
from sandbox.market.listing import ANCHOR_MS
from sandbox.market.universe import build_universe
from sandbox.market.world import build_world

WORLD = build_world(build_universe("small"), 3, Clock(fixed_ms=ANCHOR_MS))


ROWS = WORLD.universe.rows("binance", "perp")


MINUTE = ANCHOR_MS // 60_000


def test_an_index_is_made_of_the_spot_markets_of_its_coin() -> None:
    row = WORLD.universe.row["binance", "perp", "BTCUSDT"]
    found = constituents(WORLD, row, MINUTE)
    assert {"binance", "bybit"} <= {venue for venue, _, _, _ in found}
    for row in ROWS.tolist():
        found = constituents(WORLD, row, MINUTE)
        assert sum(weight for _, _, _, weight in found) == pytest.approx(1)
        assert all(weight > 0 for _, _, _, weight in found)
