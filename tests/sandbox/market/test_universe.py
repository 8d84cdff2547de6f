"""All markets of the simulated world: sizes of the real venues, the same market in each universe."""

import numpy as np
import pytest

from orchestration.config.settings import UNIVERSES
from sandbox.derived.wallets import WALLETS
from sandbox.market.listing import ANCHOR_MS
from sandbox.market.market import Market
from sandbox.market.universe import NAMES, build_universe
from tests.support.small_market import MARKET, SMALL


def test_a_market_is_the_same_in_both_universes_and_differs_by_seed() -> None:
    full = build_universe("full")
    key = ("binance", "perp", "1000PEPEUSDT")
    small_row, full_row = np.array([SMALL.row[key]]), np.array([full.row[key]])
    small = MARKET.bars(small_row, 490_000)
    np.testing.assert_array_equal(small.close, Market(full, 11).bars(full_row, 490_000).close)
    assert (small.close != Market(SMALL, 12).bars(small_row, 490_000).close).any()


def test_the_full_universe_has_the_venues_real_sizes() -> None:
    full = build_universe("full")
    live = [one for one in full.listings if one.listed_ms <= ANCHOR_MS < one.delisted_ms]
    count = {(venue, kind): sum(one.venue == venue and one.type == kind for one in live)
             for venue in ("binance", "bybit", "hyperliquid") for kind in ("perp", "spot")}  # fmt: skip
    assert 580 <= count["binance", "perp"] <= 720
    assert 1200 <= count["binance", "spot"] <= 1600
    assert 750 <= count["bybit", "perp"] <= 900
    assert 500 <= count["bybit", "spot"] <= 700
    assert 380 <= count["hyperliquid", "perp"] <= 470
    assert 200 <= count["hyperliquid", "spot"] <= 270
    assert len({(one.venue, one.type, one.symbol) for one in full.listings}) == len(full.listings)
    quotes = {one.quote for one in live if one.type == "spot"}
    assert {"BTC", "EUR", "FDUSD", "USDC", "TRY"} <= quotes
    assert {"1000PEPEUSDT", "1000000MOGUSDT", "SHIB1000USDT", "kPEPE", "xyz:TSLA"} <= {one.symbol for one in live}
    assert any(one.delisted_ms < ANCHOR_MS for one in full.listings)
    assert any(one.listed_ms > ANCHOR_MS for one in full.listings)


def test_the_triple_universe_is_the_full_one_with_two_copies_of_its_coins() -> None:
    full, triple = build_universe("full"), build_universe("triple")
    assert triple.listings[: len(full.listings)] == full.listings
    assert 2.7 < len(triple.listings) / len(full.listings) <= 3
    assert len(triple.row) == len(triple.listings)
    names = [one.name for one in triple.assets]
    assert len(set(names)) == len(names)
    assert {name + copy for name in ("BTC", "ETH") for copy in ("II", "III")} <= set(names)
    # A copy is a coin of its own, with a price of its own.
    key = ("binance", "perp", "ETHUSDT"), ("binance", "perp", "ETHIIUSDT")
    one, other = (Market(triple, 11).bars(np.array([triple.row[at]]), 490_000).close for at in key)
    assert (one != other).any()
    np.testing.assert_array_equal(one, Market(full, 11).bars(np.array([full.row[key[0]]]), 490_000).close)


def test_a_setting_may_name_every_universe_and_each_has_its_wallets() -> None:
    assert UNIVERSES == NAMES
    assert set(WALLETS) == set(NAMES)


def test_an_unknown_universe_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="one of small, full, triple, not 'half'"):
        build_universe("half")
