"""Minutes of days, and gaps of a range."""

import pytest

from serve.queries.figures.recorded import read_days, read_gaps
from serve.replica.edition import Reader
from serve.replica.units import Span
from tests.support.replica.replica import AS_OF_MS, DAY, GAPS, LAST, MINUTE


@pytest.mark.requirement("coverage:minutes")
def test_a_kind_has_a_value_for_each_day_from_the_first_on(reader: Reader) -> None:
    first = AS_OF_MS // DAY * DAY - 20 * DAY
    rows = {row["venue"]: row for row in read_days(reader, first)}
    assert rows["binance"]["t"] == rows["bybit"]["t"] == list(range(first, AS_OF_MS, DAY))
    assert set(rows["binance"]["recorded"]) == {1440}
    assert rows["bybit"]["not_recorded"] == [None] * 11 + [60] * 10


@pytest.mark.requirement("gaps:rows")
def test_gaps_are_cut_to_the_range(reader: Reader) -> None:
    span = Span(LAST - 96 * MINUTE, LAST - 89 * MINUTE)
    assert [(row["start"], row["end"], row["venue"]) for row in read_gaps(reader, span, None, 10)] == [
        (span.start, LAST - 90 * MINUTE, None), (LAST - 90 * MINUTE, span.end, None),
    ]  # fmt: skip
    whole = Span(AS_OF_MS - DAY, AS_OF_MS)
    assert len(read_gaps(reader, whole, None, 3)) == 3
    assert len(read_gaps(reader, whole, None, 100)) == len(GAPS)
    assert {row["venue"] for row in read_gaps(reader, whole, "okx", 100)} == {None, "okx"}
