"""The simulated market at a minute: cached values equal computed ones."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sandbox.market.clock import Clock
from sandbox.market.universe import MINUTE_MS
from sandbox.market.world import build_world
from tests.support.small_market import ALL, HOURS, MARKET, SMALL, quick


@quick
@given(HOURS, st.integers(0, 59))
def test_the_day_volume_is_the_sum_of_its_bars(hour: int, inside: int) -> None:
    minute = hour * 60 + inside
    state = build_world(SMALL, 11, Clock(fixed_ms=minute * MINUTE_MS)).minute(minute)
    some = ALL[::37]
    bars = MARKET.bars(some, hour - 24, 25)
    quote = bars.quote_volume[:, inside : inside + 1440].sum(axis=1)
    base = bars.volume[:, inside : inside + 1440].sum(axis=1)
    np.testing.assert_allclose(state.quote_24h[some], quote, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(state.base_24h[some], base, rtol=0.02, atol=1e-9)
