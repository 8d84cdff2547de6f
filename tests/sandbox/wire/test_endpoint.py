"""Answers of a simulated venue: JSON bodies, the status, and a weight that depends on the request."""

import json

from hypothesis import given
from hypothesis import strategies as st

from sandbox.wire.endpoint import json_response

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)  # fmt: skip


@given(VALUES)
def test_a_json_body_is_readable_by_any_json_parser(value: object) -> None:
    response = json_response(value)
    assert json.loads(response.body) == value
    assert (response.status, response.content_type) == (200, "application/json")


def test_a_requests_weight_is_its_endpoints_unless_the_response_names_one() -> None:
    assert json_response([]).weight is None
    assert (json_response({"code": -1}, 400, weight=40).status, json_response([], weight=40).weight) == (400, 40)
