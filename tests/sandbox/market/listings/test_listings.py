"""The markets that each simulated venue lists: whole lives, plausible sizes, names that are unique."""

from collections import Counter

import pytest

from sandbox.market.assets import assets
from sandbox.market.listing import ANCHOR_MS, FIRST_MS, HOUR_MS, Listing
from sandbox.market.listings import LISTINGS
from sandbox.market.universe import build_universe

FIRST = ["binance", "bybit", "hyperliquid", "bitget", "mexc", "upbit", "bithumb", "coinbase", "okx", "gate", "kucoin",
         "aster", "lighter"]  # fmt: skip
LISTED = {listings.__module__.rpartition(".")[2]: listings() for listings in LISTINGS}
each_venue = pytest.mark.parametrize("venue", LISTED)


@each_venue
def test_a_module_lists_its_own_venue_and_no_market_twice(venue: str) -> None:
    found = LISTED[venue]
    assert {one.venue for one in found} == {venue}
    assert max(Counter((one.type, one.symbol) for one in found).values()) == 1


@each_venue
def test_a_market_is_made_of_known_assets_and_lives_for_a_while(venue: str) -> None:
    known = assets()
    for one in LISTED[venue]:
        assert {one.coin, one.quote_asset} <= known.keys(), one.id
        assert FIRST_MS <= one.listed_ms < one.delisted_ms, one.id
        assert (one.units > 0, one.volume_usd > 0, one.contract_size > 0) == (True, True, True), one.id
        assert one.decimals >= 0, one.id


def priced(one: Listing) -> float:
    """USD of one lot."""
    return assets()[one.coin].price * one.units * 10.0**-one.lot_decimals


@each_venue
def test_a_lot_is_a_small_part_of_a_days_volume(venue: str) -> None:
    """Otherwise open interest and liquidations would consist of single lots."""
    assert [one.id for one in LISTED[venue] if priced(one) > 0.05 * one.volume_usd] == []


@each_venue
def test_perpetuals_alone_are_funded_from_the_first_hour_on(venue: str) -> None:
    for one in LISTED[venue]:
        assert (len(one.intervals) > 0) == (one.type == "perp"), one.id
        times = [since for since, _ in one.intervals]
        assert times == sorted(set(times)), one.id
        assert not times or times[0] <= one.listed_ms, one.id
        assert {hours for _, hours in one.intervals} <= {1, 2, 4, 8}, one.id
        assert all(since % HOUR_MS == 0 for since in times), one.id


@each_venue
def test_some_markets_trade_today_and_some_are_over(venue: str) -> None:
    found = LISTED[venue]
    assert any(one.listed_ms <= ANCHOR_MS < one.delisted_ms for one in found)
    if len(found) > 40:
        assert any(one.delisted_ms <= ANCHOR_MS for one in found)


def test_a_new_venue_moves_no_row_of_the_universe() -> None:
    venues = dict.fromkeys(listing.venue for listing in build_universe("small").listings)
    assert list(venues)[: len(FIRST)] == FIRST
    assert list(LISTED)[: len(FIRST)] == FIRST
