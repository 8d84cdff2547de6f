"""The words in which a venue's past is declared: what can be asked of it, and how an answer goes on."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ingest.declaration.endpoint import Body, Each, Venue

DAY_MS = 86_400_000
STEPS_MS = {"5m": 300_000, "1h": 3_600_000, "1d": DAY_MS}
SAMPLE = 4


@dataclass(frozen=True)
class Piece:
    """What a parameter function may look at: the market, the span [begin, end) in ms, its rows at most, the page."""

    key: str
    begin_ms: int
    end_ms: int
    rows: int
    page: int = 1


@dataclass(frozen=True)
class History:
    """One kind's past at one venue, fetched in pieces of at most `most` rows, the newest first.

    endpoint   the recorded endpoint whose format the answers have; their rows are called `history_<endpoint>`. A name
               that ends in `_history` is one that is never recorded otherwise, and stays
    interval   the length of a row; None for events at times of the venue's choice (settlements)
    path       of a piece, where it depends on it
    pool       the rate limit that it counts against, of which it has the pool's `history`
    params     the query (or JSON body) of a piece
    at         the times in ms of an answer's rows
    order      how to go on where an answer is full:
               span    the parameters name both ends, so that a piece is never more than one answer
               newest  the answer has the newest rows before the end: go on before its oldest
               oldest  it has the oldest rows from the begin: go on after its newest
               pages   the newest first by the number of a page
    days       how far back unless said otherwise
    kept_days  how far back the venue has it; None = from the listing on
    like       the recorded endpoint whose markets these are, unless `endpoint` is that
    top        so many of them, by rank; None = all
    sample     so many in the small fetch that a demo makes
    """

    endpoint: str
    interval: Literal["5m", "1h", "1d"] | None
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

    @property
    def name(self) -> str:
        """How it is called on the command line, in Dagster and in the state."""
        return f"{self.endpoint}_{self.interval}" if self.interval else self.endpoint

    @property
    def landed_as(self) -> str:
        """The endpoint that its rows name."""
        return self.endpoint if self.endpoint.endswith("_history") else f"history_{self.endpoint}"

    def each(self, venue: Venue) -> Each | None:
        """The fan-out over its markets; None: it is one request without a key.

        Markets that trade no more are not left out: their past is as good, and there are few in a ticker.
        """
        like = self.like or self.endpoint
        of = next(endpoint.each for endpoint in venue.endpoints if endpoint.name == like)
        return replace(of, without=None, top=None, rest_s=None) if of else None

    @property
    def step_ms(self) -> int:
        """The grid that a span lies on, and the least distance of its rows: no market settles twice an hour."""
        return STEPS_MS[self.interval or "1h"]

    def first(self, key: str, begin_ms: int, end_ms: int) -> Piece:
        """The newest piece of a span."""
        if self.order == "span":
            begin_ms = max(begin_ms, end_ms - self.most * self.step_ms)
        return Piece(key, begin_ms, end_ms, min(self.most, -(-(end_ms - begin_ms) // self.step_ms)))

    def covers(self, piece: Piece, times: list[int]) -> tuple[int, int, Piece | None]:
        """The span that an answer to a piece settles, and what is left to ask of the piece."""
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
            # Nothing is settled before the last page: the pages move as new rows come.
            return end_ms, end_ms, Piece(piece.key, begin_ms, end_ms, self.most, piece.page + 1)
        return oldest, end_ms, Piece(piece.key, begin_ms, oldest, self.most)
