"""Declared reductions: the recorded part of a body that is too large to keep, for any chunks it arrives in."""

import re
import tracemalloc
from collections.abc import Iterator
from random import Random
from typing import Any

import orjson
import pytest

from ingest.declaration.reduction import BestRows, NearLevels


def value_of(row: Any) -> float:
    return float(row["accountValue"])


def volume_of(row: Any) -> float:
    return float(row["volume"])


def rows(count: int) -> Iterator[dict[str, Any]]:
    draw = Random(3)
    for n in range(count):
        name = '{"ethAddress": "]}' if n % 7 == 0 else None
        windows = [[window, {"pnl": "1", "vlm": "2"}] for window in ("day", "week")]
        yield {"ethAddress": f"0x{n:040x}", "accountValue": str(draw.paretovariate(1.1)), "windowPerformances": windows,
               "volume": str(draw.paretovariate(0.9)), "displayName": name, "more": ["]", {"a": [1]}]}  # fmt: skip


def reduced(body: bytes, chunk: int, most: int) -> Any:
    reduction = BestRows("leaderboardRows", "ethAddress", (value_of, volume_of), most)
    for at in range(0, len(body), chunk):
        reduction.feed(body[at : at + chunk])
    return orjson.loads(reduction.result())


@pytest.mark.parametrize("chunk", [1, 7, 101, 65_536])
def test_the_best_by_each_mark_stay_as_they_were(chunk: int) -> None:
    every = list(rows(300))
    body = orjson.dumps({"leaderboardRows": every}, option=orjson.OPT_INDENT_2 if chunk == 101 else None)
    found = reduced(body, chunk, 20)
    best = {row["ethAddress"] for mark in (value_of, volume_of) for row in sorted(every, key=mark)[-20:]}
    assert found["leaderboardRows"] == [row for row in every if row["ethAddress"] in best]
    assert found["reduced"] == {"rows": 300, "bytes": len(body), "kept": len(best)}
    assert reduced(body, chunk, 1000)["leaderboardRows"] == every


def test_an_empty_list_stays_and_another_body_is_refused() -> None:
    assert reduced(b'{"leaderboardRows": []}', 5, 3)["leaderboardRows"] == []
    for wrong in (b"<html>", b'{"error": "down"}', b'{"leaderboardRows":[{"ethAddress":"0x1","accountValue":"1"'):
        with pytest.raises(ValueError, match="leaderboardRows"):
            reduced(wrong, 9, 3)
    with pytest.raises(ValueError, match="row 0"):
        reduced(b'{"leaderboardRows":[{"ethAddress":"0x1"}]}', 9, 3)


@pytest.mark.parametrize(
    "body",
    [
        b"x" * 60_000, b"{" * 60_000, b'{"leaderboardRows":[{' + b" " * 60_000,
        b'{"leaderboardRows":[{"ethAddress":"' + b"a" * 60_000,
    ],
    ids=["letters", "braces", "spaces", "one row"],
)  # fmt: skip
def test_the_start_of_a_row_is_looked_for_once(body: bytes) -> None:
    """Whatever is sent, each byte is looked at in at most two calls or as a part of what may begin a row."""
    reduction = BestRows("leaderboardRows", "ethAddress", (value_of, volume_of), 10)
    looked_at = 0

    class Counting:
        def finditer(self, text: bytearray, start: int) -> Iterator[re.Match[bytes]]:
            nonlocal looked_at
            looked_at += len(text) - start
            return begin.finditer(text, start)

    begin, reduction._begin = reduction._begin, Counting()  # type: ignore[assignment]
    for at in range(0, len(body), 600):
        reduction.feed(body[at : at + 600])
    assert looked_at < 2 * len(body)


def test_forty_megabytes_pass_through_little_memory() -> None:
    reduction = BestRows("leaderboardRows", "ethAddress", (value_of, volume_of), 1000)
    size = 0
    tracemalloc.start()
    reduction.feed(b'{"leaderboardRows":[')
    for n, row in enumerate(rows(46_000)):
        padding = orjson.dumps(row | {"padding": "x" * 600})
        size += len(padding)
        reduction.feed((b"," if n else b"") + padding)
    reduction.feed(b"]}")
    result = reduction.result()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size > 36e6
    assert peak < 12e6
    assert 1000 <= len(orjson.loads(result)["leaderboardRows"]) <= 2000


def test_a_book_is_kept_near_the_middle() -> None:
    body = {
        "bids": [["100", "1", 1], ["95", "2", 1], ["90", "3", 1]],
        "asks": [["102", "1", 2], ["108", "1", 1]],
        "sequence": 3,
    }

    def near(book: Any) -> Any:
        reduction = NearLevels(0.06)
        for part in (orjson.dumps(book)[:20], orjson.dumps(book)[20:]):
            reduction.feed(part)
        return orjson.loads(reduction.result())

    assert near(body) == {
        "bids": [["100", "1", 1], ["95", "2", 1]], "asks": [["102", "1", 2]], "sequence": 3,
        "reduced": {"share": 0.06, "bids": 3, "asks": 2},
    }  # fmt: skip
    assert near({"bids": [], "asks": []})["bids"] == []
    with pytest.raises(ValueError, match="not a book"):
        near({"message": "NotFound"})
