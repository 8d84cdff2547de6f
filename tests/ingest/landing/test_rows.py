"""The row of the landing: Arrow keeps every value, and equal parameters have equal text."""

import json
from typing import get_type_hints

from hypothesis import given
from hypothesis import strategies as st

from ingest.landing.rows import SCHEMA, Row, canonical, to_batch

NUMBERS = st.integers(-(2**63), 2**63 - 1)
ROWS = st.builds(
    Row, NUMBERS, st.text(), st.text(), st.text(), st.text(), st.none() | NUMBERS, NUMBERS, st.none() | NUMBERS,
    NUMBERS, st.none() | st.text(), st.none() | st.text(),
)  # fmt: skip
PARAMS = st.dictionaries(st.text(), st.integers(-(2**53), 2**53) | st.text() | st.lists(st.text(), max_size=3))


@given(st.lists(ROWS, max_size=5))
def test_rows_survive_the_conversion_to_arrow(rows: list[Row]) -> None:
    batch = to_batch(rows)
    assert batch.schema.equals(SCHEMA)
    assert [Row(**values) for values in batch.to_pylist()] == rows


def test_a_column_may_be_null_where_the_row_says_so() -> None:
    assert tuple(SCHEMA.names) == Row._fields
    optional = {name for name, kind in get_type_hints(Row).items() if type(None) in getattr(kind, "__args__", ())}
    assert {field.name for field in SCHEMA if field.nullable} == optional


@given(PARAMS, st.randoms(use_true_random=False))
def test_parameters_in_any_order_have_one_text(params: dict[str, object], random: object) -> None:
    items = list(params.items())
    random.shuffle(items)  # type: ignore[attr-defined]
    assert canonical(dict(items)) == canonical(params)
    assert json.loads(canonical(params)) == params
    assert canonical({"a": 1, "b": [2]}) == '{"a":1,"b":[2]}'
