"""The spot pairs that are requested: dollar quotes, and the coin behind a multiplied base."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.declaration.pairs import LEG_QUOTES, USD_LIKE, in_dollars, legs

COINS = st.text("ABCDEFGHIKLMNOPRSTUVWXYZ", min_size=2, max_size=6)
TIMES = st.sampled_from(["1000", "10000", "1000000"])


@given(COINS, st.sampled_from(USD_LIKE), st.sampled_from(["", "-", "_", "/"]))
def test_a_dollar_quote_is_recognized_at_the_end_of_the_symbol(coin: str, quote: str, between: str) -> None:
    assert in_dollars(f"{coin}{between}{quote}")
    assert not in_dollars(f"{quote}{between}{coin}BTC")


@given(COINS, st.sampled_from(["", "-", "_"]))
def test_a_plain_base_is_its_own_coin(coin: str, between: str) -> None:
    assert sorted(legs(coin, between)) == sorted(f"{coin}{between}{quote}" for quote in LEG_QUOTES)


@given(COINS, TIMES, st.booleans())
def test_a_multiplied_base_is_also_asked_as_the_coin(coin: str, times: str, behind: bool) -> None:
    found = set(legs(f"{coin}{times}" if behind else f"{times}{coin}"))
    assert found > {f"{coin}{quote}" for quote in LEG_QUOTES}
    assert len(found) == 2 * len(LEG_QUOTES)


@pytest.mark.parametrize(("base", "coin"), [("1MBABYDOGE", "BABYDOGE"), ("SHIB1000", "SHIB"), ("1000CAT", "CAT")])
def test_bases_as_the_venues_write_them(base: str, coin: str) -> None:
    assert f"{coin}USDT" in set(legs(base))


@pytest.mark.parametrize("base", ["1INCH", "0G", "2Z", "API3", "XYZ100"])
def test_digits_that_belong_to_the_name_stay(base: str) -> None:
    assert set(legs(base)) == {f"{base}{quote}" for quote in LEG_QUOTES}
