"""The comparison of bodies finds every structural difference, and none between bodies of the same structure."""

from typing import Any

import pytest

from tests.support.recordings.conformance import differences

REAL: dict[str, Any] = {
    "code": 0,
    "data": [
        {"symbol": "BTC", "price": "95000.1", "at": 1_767_225_600_000, "left": None, "day": "2026-01-01T00:00:00Z"},
        {"symbol": "ETH", "price": "", "at": 1_767_225_600_000, "left": 3, "more": True, "day": "2026-01-01"},
    ],
    "rows": [[1_767_225_600, "1.5", 3], [1_767_225_660, "1.6", 0]],
    "book": {"bids": [["1", "2"]], "by": {"BTC": {"v": 1}, "ETH": {"v": 2}}},
}


def changed(**parts: Any) -> dict[str, Any]:
    return {**REAL, **parts}


def row(**parts: Any) -> dict[str, Any]:
    return changed(data=[{**one, **parts} for one in REAL["data"]])


def test_bodies_of_one_make_do_not_differ() -> None:
    assert differences(REAL, REAL, maps={"by"}) == []
    other = changed(data=[{**REAL["data"][0], "symbol": "SOL", "price": "180", "left": 70, "more": False}],
                    book={"bids": [["3", "4"]] * 9, "by": {"SOL": {"v": 5}}})  # fmt: skip
    assert differences(REAL, other, maps={"book.by"}) == []
    assert differences([None], [5]) == []
    assert differences({"a": 1}, {"a": 2, "b": 1}, optional={"b"}) == []


@pytest.mark.parametrize(
    ("ours", "words"),
    [
        (row(price=95000.1), "data[].price: number"),
        (row(at=1_767_225_600), "data[].at: not a time in ms"),
        (row(at="1767225600000"), "data[].at: numeric text"),
        (row(at=None), "data[].at: null"),
        (row(price="0.000001"), "data[].price: about 1e-06"),
        (row(day="yesterday"), "data[].day: text"),
        (row(extra=1), "data[].extra: there, but"),
        (row(symbol=""), "data[].symbol: empty text"),
        (changed(data=[]), "data: an empty list"),
        (changed(data=[{k: v for k, v in one.items() if k != "left"} for one in REAL["data"]]), "data[].left: missing"),
        (changed(data=[REAL["data"][0], {"more": True}]), "data[].symbol: missing in some"),
        (changed(rows=[[1_767_225_600, "1.5"]]), "rows[]: rows of [2] values"),
        (changed(rows=[[1_767_225_600_000, "1.5", 3]]), "rows[][0]: not a time in s"),
        (changed(rows=[[1_767_225_600, 1.5, 3]]), "rows[][1]: number"),
        (changed(code="0"), "code: numeric text"),
    ],
)
def test_each_difference_is_named(ours: Any, words: str) -> None:
    found = differences(REAL, ours, maps={"by"})
    assert any(one.startswith(words) for one in found), found


def test_ignored_paths_are_not_compared() -> None:
    assert differences(REAL, row(price="0.000001"), maps={"by"}, unscaled={"price"}) == []
    assert differences(REAL, row(price="0.01"), maps={"by"}, tolerance=1e8) == []
    assert differences(REAL, row(at="x"), maps={"by"}, ignored={"data[].at"}) == []
