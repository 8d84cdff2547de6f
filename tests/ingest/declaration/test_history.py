"""How the next request for the past follows from a body: whatever the order, a span is covered whole and once."""

from dataclasses import replace
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.declaration.history import HISTORY_SQL, History, Piece, is_history

HOUR = 3_600_000
BASE = History("perp_bars", "1h", "host", "/path", "pool", lambda piece: {}, lambda body: body, 10, "span", 30)
SPANS = st.tuples(st.integers(0, 300), st.integers(1, 120))


def answered(history: History, piece: Piece, rows: list[int]) -> list[int]:
    """The body of a venue that has these rows, in the order of the history; no more than were asked for."""
    inside = [at for at in rows if piece.begin_ms <= at < piece.end_ms]
    if history.order == "pages":
        begin = (piece.page - 1) * piece.rows
        return sorted(inside, reverse=True)[begin : begin + piece.rows]
    return inside[: piece.rows] if history.order == "oldest" else inside[-piece.rows :]


def walk(history: History, begin_ms: int, end_ms: int, rows: list[int]) -> tuple[list[int], list[tuple[int, int]]]:
    """(times of all bodies, covered spans) of a backfill of one market."""
    times, covered, left = list[int](), list[tuple[int, int]](), [(begin_ms, end_ms)]
    while left:
        begin, end = left.pop()
        piece: Piece | None = history.first("BTC", begin, end)
        first = piece
        while piece is not None:
            body = answered(history, piece, rows)
            assert len(body) <= history.most
            times += body
            at, to, piece = history.covers(piece, body)
            if at < to:
                covered.append((at, to))
        assert first is not None
        if first.begin_ms > begin:
            left.append((begin, first.begin_ms))
    return times, covered


@pytest.mark.parametrize("order", ["span", "newest", "oldest", "pages"])
@given(span=SPANS, missing=st.sets(st.integers(0, 420), max_size=60), most=st.integers(2, 40))
def test_every_row_of_a_span_is_asked_for(order: Any, span: tuple[int, int], missing: set[int], most: int) -> None:
    history = replace(BASE, order=order, most=most)
    begin, end = span[0] * HOUR, (span[0] + span[1]) * HOUR
    rows = [hour * HOUR for hour in range(430) if hour not in missing]
    times, covered = walk(history, begin, end, rows)
    assert sorted(set(times)) == [at for at in rows if begin <= at < end]
    assert sum(to - at for at, to in covered) == end - begin, "covered twice, or not at all"
    if order == "span":
        assert len(times) == len(set(times))


@given(st.sampled_from(["span", "newest", "oldest", "pages"]), SPANS)
def test_a_span_without_rows_is_covered_by_its_answers(order: Any, span: tuple[int, int]) -> None:
    history = replace(BASE, order=order)
    begin, end = span[0] * HOUR, (span[0] + span[1]) * HOUR
    times, covered = walk(history, begin, end, [])
    assert times == []
    assert sum(to - at for at, to in covered) == end - begin


@pytest.mark.parametrize(
    ("endpoint", "interval", "name", "landed_as"),
    [
        ("perp_bars", "1d", "perp_bars_1d", "history_perp_bars"),
        ("settlements", None, "settlements", "history_settlements"),
        ("open_interest_history", "1h", "open_interest_history_1h", "open_interest_history"),
    ],
)  # fmt: skip
def test_the_past_is_landed_under_a_name_that_says_so(endpoint: str, interval: Any, name: str, landed_as: str) -> None:
    history = replace(BASE, endpoint=endpoint, interval=interval)
    assert (history.name, history.landed_as) == (name, landed_as)
    assert is_history(landed_as)
    assert not is_history("perp_bars")


@pytest.mark.parametrize("endpoint", ["perp_bars", "history_perp_bars", "taker_history", "historyx", "prehistory_a"])
def test_the_condition_in_sql_is_the_same_as_in_python(endpoint: str) -> None:
    found = duckdb.execute(f"select {HISTORY_SQL} from (select ? as endpoint)", [endpoint]).fetchall()
    assert found == [(is_history(endpoint),)]
