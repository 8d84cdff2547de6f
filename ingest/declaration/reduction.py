"""Reductions of bodies that are too large to keep: which part is recorded, and how large the whole was.

Bodies are recorded as the venue sent them; a reduction is the exception, for an endpoint that declares one as `reduce`.
It reads the body in chunks as they arrive. The part that it keeps has the venue's own text and shape, and the field
`reduced` has the size of the whole, so that a part cannot be mistaken for the whole.
"""

import re
from collections.abc import Callable
from heapq import heappushpop
from itertools import pairwise
from typing import Any, Protocol

import orjson


class Reduction(Protocol):
    """The reduction of one body. A body that cannot be reduced raises ValueError and becomes a failed row."""

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""

    def result(self) -> bytes:
        """What is recorded instead of the body."""


class BestRows:
    """The rows of a long list of objects that are among the `most` greatest by any of several marks, in their order.

    `first_key` is the first key of each row, by which rows are found: inside a string its quotes would be escaped.
    Memory holds the kept rows, one chunk and one row.
    """

    def __init__(self, name: str, first_key: str, marks: tuple[Callable[[Any], float], ...], most: int) -> None:
        self._name, self._marks, self._most = name, marks, most
        # Of so many bytes at most, so that the start of a row is looked for once: the last ones may be a part of it.
        self._begin = re.compile(rb'\{\s{0,64}"' + re.escape(first_key.encode()) + rb'"\s{0,64}:')
        self._longest = len(first_key.encode()) + 2 * 64 + 4
        self._best: list[list[tuple[float, int, bytes]]] = [[] for _ in marks]
        self._pending = bytearray()
        self._searched = 0
        self._inside = False
        self._rows = self._bytes = 0

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._bytes += len(chunk)
        self._pending += chunk
        found = [start.start() for start in self._begin.finditer(self._pending, self._searched)]
        starts = [0, *found] if self._inside else found
        for start, end in pairwise(starts):
            self._take(bytes(self._pending[start:end]).rstrip().rstrip(b","))
        # The last row is complete when the next one begins or the body ends.
        if found:
            del self._pending[: found[-1]]
            self._inside = True
        self._searched = max(int(self._inside), len(self._pending) - self._longest)

    def result(self) -> bytes:
        """The body with only the kept rows."""
        if self._inside:
            row, closed, _ = bytes(self._pending).rpartition(b"]")
            if not closed:
                raise ValueError(f"{self._name} does not end")
            self._take(row.rstrip())
        elif self._name.encode() not in self._pending:
            raise ValueError(f"there is no {self._name} in the body")
        kept = {number: row for best in self._best for _, number, row in best}
        size = orjson.dumps({"rows": self._rows, "bytes": self._bytes, "kept": len(kept)})
        rows = b",".join(kept[number] for number in sorted(kept, reverse=True))
        return b'{"%s":[%s],"reduced":%s}' % (self._name.encode(), rows, size)

    def _take(self, row: bytes) -> None:
        try:
            value = orjson.loads(row)
            ranks = [mark(value) for mark in self._marks]
        except (ValueError, LookupError, TypeError) as error:
            raise ValueError(f"row {self._rows} of {self._name}: {error!r}") from None
        for best, rank in zip(self._best, ranks, strict=True):
            # Of equal rows the first one is kept.
            entry = (rank, -self._rows, row)
            if len(best) < self._most:
                best.append(entry)
                if len(best) == self._most:
                    best.sort()
            else:
                heappushpop(best, entry)
        self._rows += 1


class NearLevels:
    """The levels of an order book within a share of its mid price; both sides are sorted best first."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._chunks: list[bytes] = []

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._chunks.append(chunk)

    def result(self) -> bytes:
        """The body with only the near levels."""
        body = orjson.loads(b"".join(self._chunks))
        try:
            sides = {name: body[name] for name in ("bids", "asks")}
            best = [float(side[0][0]) for side in sides.values() if side]
            middle = sum(best) / len(best) if best else 0.0
            for name, side in sides.items():
                body[name] = [level for level in side if abs(float(level[0]) - middle) <= self._share * middle]
        except (LookupError, TypeError) as error:
            raise ValueError(f"not a book: {error!r}") from None
        there = {name: len(side) for name, side in sides.items()}
        return orjson.dumps(body | {"reduced": {"share": self._share, **there}})
