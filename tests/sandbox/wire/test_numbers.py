"""Numbers as the venues write and read them."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.wire.numbers import pointed, trimmed, whole

DECIMALS = st.integers(0, 10)
VALUES = st.floats(0, 1e9, allow_nan=False)


@given(VALUES, DECIMALS)
def test_a_trimmed_number_is_the_rounded_one_without_zeros_at_its_end(value: float, decimals: int) -> None:
    text = trimmed(value, decimals)
    assert Decimal(text) == Decimal(f"{value:.{decimals}f}")
    assert "." not in text or text[-1] not in "0."


@given(VALUES, DECIMALS)
def test_a_pointed_number_has_digits_on_both_sides_of_its_point(value: float, decimals: int) -> None:
    text = pointed(value, decimals)
    before, _, after = text.partition(".")
    assert before.isdigit()
    assert after.isdigit()
    assert Decimal(text) == Decimal(trimmed(value, decimals))


@pytest.mark.parametrize(("value", "decimals", "text"), [(113080.0, 2, "113080"), (100.0, 0, "100")])
def test_whole_tens_keep_their_zeros(value: float, decimals: int, text: str) -> None:
    assert trimmed(value, decimals) == text


@given(st.integers())
def test_a_whole_number_is_read_as_it_was_written(number: int) -> None:
    assert whole({"limit": str(number)}, "limit") == number


def test_a_parameter_is_absent_or_refused_by_its_name() -> None:
    assert whole({}, "limit") is None
    assert whole({"limit": ""}, "limit") is None
    with pytest.raises(ValueError, match=r"^limit$"):
        whole({"limit": "1.5"}, "limit")
