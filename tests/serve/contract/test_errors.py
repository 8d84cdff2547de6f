"""Errors of requests: values are quoted shortly and printably, and the nearest allowed value is suggested."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serve.contract.errors import QUOTED_CHARS, BadParameter, nearest, quote, suggestion

STEPS = ("1m", "5m", "15m", "1h", "4h", "1d", "auto")
ANY_JSON = st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner, max_size=5))


@pytest.mark.requirement("http:params:message")
@settings(deadline=None)
@given(ANY_JSON)
def test_a_quoted_value_is_short_and_printable(value: Any) -> None:
    text = quote(value)
    assert text
    # A character may be written as an escape of ten.
    assert len(text) <= 10 * (QUOTED_CHARS + 3)
    assert not isinstance(value, str) or text.isprintable()


@pytest.mark.requirement("http:params:message")
def test_a_value_is_quoted_as_it_was_received() -> None:
    assert (quote("a\n'b"), quote([1, None]), quote("x" * 100)) == ('"a\\n\'b"', "[1,null]", f"'{'x' * QUOTED_CHARS}…'")
    deep: list[Any] = []
    for _ in range(1000):
        deep = [deep]
    assert quote(deep) == "a deeply nested value"


@pytest.mark.requirement("http:params:message")
@pytest.mark.parametrize(
    ("value", "near"), [("15min", "15m"), ("AUTO", "auto"), ("1D", "1d"), ("", None), ("fortnight", None)]
)
def test_the_nearest_choice_is_suggested_in_its_own_spelling(value: str, near: str | None) -> None:
    assert nearest(value, STEPS) == near
    assert suggestion(value, STEPS) == ("" if near is None else f"; did you mean {near!r}?")


@pytest.mark.requirement("http:params:message")
def test_a_bad_parameter_says_all_in_its_message_and_in_its_details() -> None:
    error = BadParameter("step", "15min", "use one of 1m, 15m", STEPS)
    assert (error.status, error.message) == (400, "step: '15min' is not valid; use one of 1m, 15m; did you mean '15m'?")
    assert error.details == {"argument": "step", "value": "15min", "allowed": "use one of 1m, 15m", "nearest": "15m"}
    assert BadParameter("limit", 99, "at most 50", near=50).details["nearest"] == 50
