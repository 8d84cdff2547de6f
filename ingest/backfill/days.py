"""Which days of a venue's past a run has whole: everything that it plans of them is fetched."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import groupby

from ingest.backfill.covered import Covered, Span
from ingest.declaration.endpoint import DAY_MS

EPOCH = date(1970, 1, 1)


@dataclass
class Plan:
    """What a run wants of one venue's past.

    spans     (kind, market, [begin, end) in UTC epoch ms) of requests
    files     path → the span of a file
    left      paths of the files that are not fetched yet
    unlisted  how many lists of files are not read, so that nothing is known of their days
    """

    spans: list[tuple[str, str, Span]] = field(default_factory=list)
    files: dict[str, Span] = field(default_factory=dict)
    left: set[str] = field(default_factory=set)
    unlisted: int = 0

    def whole_days(self, venue: str, covered: Covered, before_ms: int) -> list[date]:
        """The days before this time of which the plan has something and nothing is missing, oldest first."""
        if self.unlisted:
            return []
        wanted = {span for *_, span in self.spans} | set(self.files.values())
        missing = {gap for kind, key, span in self.spans for gap in covered.gaps(venue, kind, key, *span)}
        missing |= {self.files[path] for path in self.left}
        days = {day for begin, end in wanted for day in range(-(-begin // DAY_MS), end // DAY_MS)}
        days -= {day for begin, end in missing for day in range(begin // DAY_MS, -(-end // DAY_MS))}
        return [EPOCH + timedelta(days=day) for day in sorted(days) if day < before_ms // DAY_MS]


def span_of_days(first: date, until: date, zone_h: int) -> Span:
    """The span [begin, end) of the days of a file, which are so many hours ahead of UTC."""
    ahead = timedelta(hours=zone_h)
    begin, end = (datetime(day.year, day.month, day.day, tzinfo=UTC) - ahead for day in (first, until))
    return int(begin.timestamp() * 1000), int(end.timestamp() * 1000)


def as_ranges(days: Iterable[date]) -> list[tuple[str, str]]:
    """Days in order as [first, last] of each run of consecutive ones."""
    runs = groupby(enumerate(sorted(days)), lambda one: one[1].toordinal() - one[0])
    return [(own[0][1].isoformat(), own[-1][1].isoformat()) for _, run in runs for own in [list(run)]]


def in_ranges(ranges: Iterable[tuple[str, str]]) -> set[date]:
    """The days of `as_ranges`."""
    bounds = [(date.fromisoformat(first), date.fromisoformat(last)) for first, last in ranges]
    return {first + timedelta(days=n) for first, last in bounds for n in range((last - first).days + 1)}
