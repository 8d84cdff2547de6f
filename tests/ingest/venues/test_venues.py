"""Venues are found by their files: each declares the venue that it is named after, recorded and simulated alike."""

import ast
from collections import Counter
from pathlib import Path

import pytest

import ingest.venues
import sandbox.venues
from ingest.declaration.endpoint import Endpoint, Request
from ingest.declaration.venue import Venue
from ingest.venues import VENUES


def test_each_file_declares_the_venue_that_it_is_named_after() -> None:
    files = sorted(path.stem for path in Path(ingest.venues.__file__).parent.glob("[!_]*.py"))
    assert [venue.name for venue in ingest.venues.VENUES] == files


def test_each_recorded_venue_is_simulated() -> None:
    simulated = [one.venue for one in sandbox.venues.SIMULATED_VENUES]
    assert simulated == [venue.name for venue in ingest.venues.VENUES]


@pytest.mark.parametrize("venue", VENUES, ids=lambda venue: venue.name)
def test_declarations_hold_together(venue: Venue) -> None:
    """Every name that a declaration refers to is declared."""
    names, pools = {endpoint.name for endpoint in venue.endpoints}, {pool.name for pool in venue.pools}
    assert len(names) == len(venue.endpoints)
    for endpoint in venue.endpoints:
        assert endpoint.pool in pools
        if endpoint.fan_out:
            sources = (endpoint.fan_out.of, endpoint.fan_out.within, endpoint.fan_out.without)
            assert {source.endpoint for source in sources if source} <= names
    assert {stream.topics.endpoint for stream in venue.streams if stream.topics} <= names


@pytest.mark.parametrize("venue", VENUES, ids=lambda venue: venue.name)
def test_a_full_minute_fits_the_budget(venue: Venue) -> None:
    """With the whole universe (VENUES 0.3), a first minute that catches up and asks all stays inside every pool."""
    coins = {"hyperliquid": 430, "okx": 480, "lighter": 215}.get(venue.name, 850)
    sizes = {
        "open_interest": 700,
        "perp_tickers": 12,
        "spot_bars": 1500,
        "option_open_interest": 40,
        "wallet_positions": 10,
        "dex_positions": 60,
        "wallet_fills": 500,
        "index_tickers": 6,
    }
    if venue.name == "lighter":
        sizes |= {"spot_bars": 15}
    if venue.name == "bitget":
        # Its statistics are asked of the most traded alone.
        sizes |= {"long_short_accounts": 50, "taker_ratio": 50}
    used: Counter[str] = Counter()
    for endpoint in venue.endpoints:
        count, fan_out = 1, endpoint.fan_out
        if fan_out:
            count = sizes.get(endpoint.name, coins) if fan_out.of else len(fan_out.always)
            if fan_out.top is not None:
                rest = -(-(count - fan_out.top) * endpoint.every_s // fan_out.rest_s) if fan_out.rest_s else 0
                count = fan_out.top + rest
        most = endpoint.bars.most if endpoint.bars else 0
        weight = endpoint.weight(Request("", 0, most)) if callable(endpoint.weight) else endpoint.weight
        used[endpoint.pool] += count * weight
    for pool in venue.pools:
        assert used[pool.name] <= (pool.limit - pool.history) * max(1, 60 / pool.window_s)


MACRO = Path(__file__).parents[3] / "dbt_project" / "macros" / "recording.sql"


LONGEST_S = 3600
"""Keys that come round more seldom than this count as requested hourly: a share of them is requested in between."""


def minutes_between(endpoint: Endpoint) -> int:
    """Minutes after which the endpoint, or the last of its rotating keys, is requested again."""
    fan_out = endpoint.fan_out
    rotation_s = (fan_out.rest_s or 0) if fan_out and fan_out.top == 0 else 0
    return max(endpoint.every_s, min(rotation_s, LONGEST_S)) // 60


def test_gaps_count_a_response_until_the_kind_is_requested_again() -> None:
    """A shorter time there would be a gap after every response; a longer one would hide a missing response."""
    text = MACRO.read_text()
    _, _, rest = text.partition("{{ return(")
    counted = {
        kind: minutes for minutes, kinds in ast.literal_eval(rest.partition(") }}")[0]).items() for kind in kinds
    }
    declared: dict[str, int] = {}
    for venue in VENUES:
        declared |= {stream.name: 1 for stream in venue.streams if stream.name in counted}
        for endpoint in venue.endpoints:
            declared[endpoint.name] = max(declared.get(endpoint.name, 0), minutes_between(endpoint))
    assert {kind: declared[kind] for kind in counted} == counted
