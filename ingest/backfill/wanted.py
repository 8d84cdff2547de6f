"""Which part of the past a backfill fetches: venues, kinds, markets, a span, and the small fetch of a demo."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from ingest.declaration.archive import Archive
from ingest.declaration.endpoint import DAY_MS, HOUR_MS
from ingest.declaration.history import History, Interval

SAMPLE_DAYS: dict[Interval | None, int] = {"1m": 1, "1d": 200, "1h": 30, "5m": 2, None: 31}
"""How many days back the small fetch of a demo goes, by the length of a row."""


@dataclass(frozen=True)
class Wanted:
    """What to fetch; None means all, and as far back as the histories declare.

    kinds    names of histories (`perp_bars_1d`) or of recorded kinds (`perp_bars`: all its intervals)
    again    also spans that have been fetched before
    sample   the small fetch of a demo
    symbols  only these markets, by the venue's own symbols
    top      so many markets of each kind, those traded most, instead of as many as it declares
    dry_run  fetch nothing but the lists of markets and of files, and estimate the rest
    within_s  start no request after so many seconds
    folder   take files from here, not from the exchanges; nothing else is fetched
    """

    venues: Sequence[str] | None = None
    kinds: Sequence[str] | None = None
    begin_ms: int | None = None
    end_ms: int | None = None
    again: bool = False
    sample: bool = False
    within_s: float | None = None
    symbols: Sequence[str] | None = None
    top: int | None = None
    dry_run: bool = False
    folder: Path | None = None

    @property
    def is_whole(self) -> bool:
        """Whether of each venue all kinds of all markets are fetched."""
        return (self.kinds, self.symbols, self.top, self.folder) == (None, None, None, None)

    def has(self, history: History | Archive) -> bool:
        """Whether a history is one of the wanted kinds; one that costs money must be named."""
        if self.kinds is None:
            return not (isinstance(history, Archive) and history.region)
        of_files = isinstance(history, Archive) or not self.folder
        return of_files and (history.name in self.kinds or history.endpoint in self.kinds)

    def markets(self, history: History | Archive, ranked: Sequence[str]) -> list[str]:
        """Of the markets of a history, the highest ranked first, those to fetch."""
        if self.symbols is not None and list(ranked) != [""]:
            # An archive has also the files of markets that are no longer listed.
            delisted = set(self.symbols).difference(ranked) if isinstance(history, Archive) else set[str]()
            return [*(key for key in ranked if key in self.symbols), *sorted(delisted)]
        return list(ranked[: history.sample if self.sample else self.top or history.top])

    def days_of(self, archive: Archive, at_ms: int) -> tuple[date, date]:
        """The first and the last of the archive's days to fetch: days that have ended."""
        ahead_ms = archive.zone_h * HOUR_MS
        today = _day(at_ms + ahead_ms)
        end_ms = at_ms if self.end_ms is None else self.end_ms
        # The day in which the span ends belongs to it, unless the span ends as the day begins.
        last = min(today - timedelta(days=1), _day(end_ms + ahead_ms - 1))
        days = min(archive.days, SAMPLE_DAYS["5m"]) if self.sample else archive.days
        first = _day(self.begin_ms + ahead_ms) if self.begin_ms is not None else today - timedelta(days=days)
        return max(first, archive.first), min(last, archive.last or last)

    def span(self, history: History, at_ms: int) -> tuple[int, int]:
        """The span [begin, end) to fetch in UTC epoch ms: whole rows, and none that the venue no longer keeps."""
        step = history.step_ms
        days = min(history.days, SAMPLE_DAYS[history.interval]) if self.sample else history.days
        begin = self.begin_ms if self.begin_ms is not None else at_ms - days * DAY_MS
        if history.kept_days:
            # An hour less: the venue drops the oldest rows while they are being fetched.
            begin = max(begin, at_ms - history.kept_days * DAY_MS + HOUR_MS)
        end = min(at_ms, self.end_ms if self.end_ms is not None else at_ms)
        return -(-begin // step) * step, end // step * step


def _day(at_ms: int) -> date:
    return datetime.fromtimestamp(at_ms / 1000, UTC).date()
