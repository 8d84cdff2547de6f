"""The rules by which markets get dates, sizes, prices and funding intervals."""

from datetime import timedelta
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from sandbox.market.assets import assets
from sandbox.market.listing import (
    ANCHOR_MS,
    DAY_MS,
    FIRST_MS,
    HOUR_MS,
    NEVER_MS,
    coins,
    dates,
    intervals,
    lot_decimals,
    price_decimals,
    quarters,
    size,
)

NAMES = st.text("ABCDEFGH", min_size=1, max_size=6)


@given(NAMES, st.integers(0, 2000))
def test_a_market_lives_on_whole_hours_and_the_largest_are_not_delisted(name: str, rank: int) -> None:
    listed, delisted = dates(name, rank)
    assert (listed, delisted) == dates(name, rank)
    assert FIRST_MS <= listed < delisted
    assert listed % HOUR_MS == 0
    if rank < 15:
        assert listed < ANCHOR_MS - 365 * DAY_MS
        assert delisted == NEVER_MS
    else:
        assert delisted == NEVER_MS or delisted - listed >= 120 * DAY_MS


@given(st.floats(1e-9, 1e6), st.integers(3, 8), st.integers(2, 12))
def test_a_price_shows_its_digits_and_no_more_decimals_than_allowed(price: float, digits: int, most: int) -> None:
    decimals = price_decimals(price, digits, most)
    assert 0 <= decimals <= most
    shown = len(str(int(Decimal(f"{price:.{decimals}f}").scaleb(decimals))))
    if 0 < decimals < most:
        assert digits - 1 <= shown <= digits + 1


@given(st.floats(1e-9, 1e6))
def test_a_lot_is_worth_less_than_a_dollar_where_eight_decimals_allow_it(price_usd: float) -> None:
    worth = price_usd * 10.0 ** -lot_decimals(price_usd)
    assert worth <= max(0.11, price_usd * 1e-8)


@given(NAMES, st.sampled_from([4, 8]), st.sampled_from([1, 4, 8]))
def test_funding_intervals_begin_at_the_epoch_and_end_as_settled(name: str, settled: int, before: int) -> None:
    life = intervals(name, ANCHOR_MS - 900 * DAY_MS, settled, before, changed_share=1.0)
    times = [since for since, _ in life]
    assert times[0] == 0
    assert times == sorted(set(times)), "two changes at once"
    assert life[-1][1] == settled
    assert all(since % (8 * HOUR_MS) == (ANCHOR_MS - 900 * DAY_MS) % (8 * HOUR_MS) or not since for since in times[:2])


@given(NAMES, st.floats(0, 1))
def test_a_market_is_a_share_of_the_coins_volume(name: str, share: float) -> None:
    bitcoin = coins()[0]
    found = size(name, bitcoin, share)
    assert 2_000 <= found <= max(2_000, 1.4 * share * bitcoin.volume_usd)
    assert size(name, assets()["EUR"], share) == 2_000


def test_quarterly_futures_are_delivered_on_last_fridays_at_eight() -> None:
    found = quarters()
    for listed, delivered in found:
        assert (delivered.weekday(), delivered.hour, delivered.month % 3) == (4, 8, 0)
        assert (delivered + timedelta(days=7)).month != delivered.month
        assert 150 < (delivered - listed).days < 215
    assert [delivered for _, delivered in found] == sorted(delivered for _, delivered in found)
