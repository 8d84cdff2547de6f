"""What can be requested of a venue's past, and how the next request follows from a response."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ingest.declaration.endpoint import DAY_MS, HOUR_MS, MINUTE_MS, Body, Place

Interval = Literal["1m", "5m", "1h", "1d"]
"""The length of a row of history."""
STEPS_MS: dict[Interval, int] = {"1m": MINUTE_MS, "5m": 5 * MINUTE_MS, "1h": HOUR_MS, "1d": DAY_MS}
HISTORY_SQL = "(starts_with(endpoint, 'history_') or ends_with(endpoint, '_history'))"
"""`is_history` of the landed column `endpoint`, in SQL; dbt's macro `is_backfilled` is the same text."""
SAMPLE = 4
"""Markets in the small fetch of a demo, unless a history says otherwise."""


def is_history(endpoint: str) -> bool:
    """Whether rows landed under this name were fetched from a venue's past, long after their time."""
    return endpoint.startswith("history_") or endpoint.endswith("_history")


@dataclass(frozen=True)
class Piece:
    """One request for the past: at most `rows` rows of a market in [begin_ms, end_ms), UTC epoch ms; pages from 1."""

    key: str
    begin_ms: int
    end_ms: int
    rows: int
    page: int = 1


@dataclass(frozen=True)
class History:
    """The past of one kind at one venue, fetched in pieces of at most `most` rows, the newest first.

    endpoint   the recorded endpoint whose format the bodies have; the rows are landed as `history_<endpoint>`. A name
               that ends in `_history` belongs to no recorded endpoint and is landed as it is
    interval   the length of a row; None for events at times that the venue chooses (settlements)
    path       the path, or how it follows from a piece
    pool       the rate limit that it counts against; it may use the pool's `history`
    place      (key) → where its requests go, if not to `host`, `path` and `pool`
    params     (piece) → the query of a GET, the JSON body of a POST
    at         (body) → the times of its rows, UTC epoch ms
    order      how to continue after a body that has as many rows as were requested:
               span    the parameters name both ends, so that a piece is never more than one body
               newest  the body has the newest rows before the end: continue before its oldest
               oldest  it has the oldest rows after the begin: continue after its newest
               pages   the newest first, by page number
    days       how many days back unless the fetch says otherwise
    kept_days  how many days the venue keeps; None = everything since the listing
    like       the recorded endpoint whose markets these are, unless it is `endpoint`
    top        so many markets, by rank; None = all
    sample     so many markets in the small fetch of a demo
    """

    endpoint: str
    interval: Interval | None
    host: str
    path: str | Callable[[Piece], str]
    pool: str
    params: Callable[[Piece], Mapping[str, Any]]
    at: Callable[[Body], Iterable[int]]
    most: int
    order: Literal["span", "newest", "oldest", "pages"]
    days: int
    kept_days: int | None = None
    weight: int | Callable[[Piece], int] = 1
    method: str = "GET"
    like: str | None = None
    top: int | None = None
    sample: int = SAMPLE
    place: Callable[[str], Place | None] | None = None

    @property
    def name(self) -> str:
        """Its name on the command line, in Dagster and in the state file."""
        return f"{self.endpoint}_{self.interval}" if self.interval else self.endpoint

    @property
    def landed_as(self) -> str:
        """The `endpoint` of its landed rows."""
        return self.endpoint if is_history(self.endpoint) else f"history_{self.endpoint}"

    @property
    def is_fine(self) -> bool:
        """Whether its rows are minutes or five minutes: the newest charts and changes wait for them."""
        return self.interval in ("1m", "5m")

    @property
    def step_ms(self) -> int:
        """The grid of its spans and the smallest distance of its rows, ms: no market settles twice an hour."""
        return STEPS_MS[self.interval or "1h"]

    def first(self, key: str, begin_ms: int, end_ms: int) -> Piece:
        """The newest piece of a span."""
        if self.order == "span":
            begin_ms = max(begin_ms, end_ms - self.most * self.step_ms)
        return Piece(key, begin_ms, end_ms, min(self.most, -(-(end_ms - begin_ms) // self.step_ms)))

    def covers(self, piece: Piece, times: list[int]) -> tuple[int, int, Piece | None]:
        """(begin, end, rest): the span that a body with rows at these `times` covers, and what remains of the piece."""
        full = len(times) >= piece.rows and piece.rows == self.most
        begin_ms, end_ms = piece.begin_ms, piece.end_ms
        if self.order == "span" or not full or not times:
            return begin_ms, end_ms, None
        if self.order == "oldest":
            newest = max(times) + 1
            rest = Piece(piece.key, newest, end_ms, self.most) if newest < end_ms else None
            return begin_ms, min(newest, end_ms), rest
        oldest = min(times)
        if oldest <= begin_ms:
            return begin_ms, end_ms, None
        if self.order == "pages":
            # Nothing is covered before the last page: rows move to later pages as new ones arrive.
            return end_ms, end_ms, Piece(piece.key, begin_ms, end_ms, self.most, piece.page + 1)
        return oldest, end_ms, Piece(piece.key, begin_ms, oldest, self.most)
