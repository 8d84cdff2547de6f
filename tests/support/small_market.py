"""The small simulated market, its markets' rows, and hours of it to draw."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from sandbox.market.listing import ANCHOR_MS, FIRST_MS
from sandbox.market.market import Market
from sandbox.market.universe import build_universe

SMALL = build_universe("small")
MARKET = Market(SMALL, 11)
ALL = np.arange(len(SMALL.listings))
HOURS = st.integers(FIRST_MS // 3_600_000, ANCHOR_MS // 3_600_000 + 3 * 365 * 24)
quick = settings(max_examples=25)
