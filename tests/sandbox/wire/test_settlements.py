"""Past funding settlements of the simulated market: on the grid of the interval in force, the same on any page."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.market.clock import Clock
from sandbox.market.derivatives import funding_rate
from sandbox.market.listing import ANCHOR_MS
from sandbox.market.universe import build_universe
from sandbox.market.world import build_world
from sandbox.wire.settlements import settlements

HOUR_MS = 3_600_000
WORLD = build_world(build_universe("small"), 1, Clock(fixed_ms=ANCHOR_MS))
PERPS = np.flatnonzero(WORLD.universe.perp).tolist()
CHANGING = [row for row in PERPS if len(WORLD.universe.listings[row].intervals) > 1]
quick = settings(max_examples=25)


@quick
@given(st.sampled_from(PERPS), st.integers(0, 900 * 24 * 60), st.integers(1, 300))
def test_settlements_fall_on_the_interval_in_force_newest_first(row: int, minutes_ago: int, count: int) -> None:
    before_ms = ANCHOR_MS - minutes_ago * 60_000
    found = settlements(WORLD, row, before_ms, count)
    times = [at for at, _, _ in found]
    assert len(found) <= count
    assert times == sorted(set(times), reverse=True)
    one = WORLD.universe.listings[row]
    for at, rate, hours in found:
        assert one.listed_ms < at <= min(before_ms, one.delisted_ms)
        assert hours == [length for since, length in one.intervals if since < at][-1]
        assert at % (hours * HOUR_MS) == 0
        now = funding_rate(WORLD.market, np.array([row]), np.array([at // 60_000 - 1]), np.array([[hours]]))
        assert rate == now[0, 0]


@quick
@given(st.sampled_from(PERPS), st.integers(2, 200), st.integers(1, 199))
def test_two_pages_are_one(row: int, count: int, first: int) -> None:
    whole = settlements(WORLD, row, ANCHOR_MS, count)
    page = settlements(WORLD, row, ANCHOR_MS, min(first, count))
    assert page == whole[: len(page)]
    if page:
        rest = settlements(WORLD, row, page[-1][0] - 1, count - len(page)) if count > len(page) else []
        assert page + rest == whole


@pytest.mark.parametrize("row", CHANGING[:3])
def test_a_changed_interval_is_followed_at_its_date(row: int) -> None:
    one = WORLD.universe.listings[row]
    since, after = one.intervals[-1]
    before = one.intervals[-2][1]
    assert since < ANCHOR_MS, "the market that was chosen changes later"
    lengths = [hours for _, _, hours in settlements(WORLD, row, since + 20 * after * HOUR_MS, 40)]
    assert lengths[:20] == [after] * 20
    assert set(lengths[20:]) == {before}
