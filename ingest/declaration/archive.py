"""What an exchange publishes of its past as files: one a market and day or month, or one a day for all markets."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from ingest.declaration.history import SAMPLE

PUBLISHED_WITHIN_DAYS = 7
"""A file that is not there so long after its period is missing; before, it may still come."""
Packing = Literal["zip", "gzip", "lz4", "xlsx"]
"""Of CSV, or `xlsx`: a sheet in a ZIP file, which becomes CSV."""
PathOf = Callable[[str, date], str]
"""(name, first day) → the path of a market's file."""
Period = tuple[date, date]
"""The days of a file: the first one, and the first one after it."""


@dataclass(frozen=True)
class Bucket:
    """A list of files as S3 lists objects: where it is, and the folders [(name, day) → paths] to list for a market and
    the month of a day. Names of a market's files begin with `<name>-`; other files in a folder are left out."""

    host: str
    path: str
    folders: Callable[[str, date], Sequence[str]]


@dataclass(frozen=True)
class Archive:
    """Files with the past of one kind, each one packed table.

    endpoint   the files' text is landed under this name, which ends in `_history`
    host       where the files are
    files      the list of files, or where there is none the path of a day's file: then `absent` says that there is none
    months     where there is no list the path of a whole month's file, if there are such
    period     finds the days of a file in its name: YYYY-MM-DD or YYYY-MM, with or without hyphens. Files of a day
               are not fetched where there is one of its month
    by         the shortest period that has a file
    pool       the rate limit that requests count against
    has        (market) → whether the archive can have it
    first      no file is older
    days       how many days back unless the fetch says otherwise; 0 = none
    like       the recorded endpoint whose markets these are; None: each file has all markets
    top        so many markets, by rank
    name_of    (market) → its name in the archive
    checksum   the algorithm of the file `<path>.CHECKSUM`, one line `<digest>  <name>`; None: there is none, and files
               are verified by their ETag in the list, the MD5 of an object that was uploaded whole
    packing    what the table is packed in
    absent     the statuses of a response to a path without a file
    zone_h     hours that the files' days are ahead of UTC
    last       no file is newer: the venue has ended them; None: they go on
    lines      that a day has at least; a file of a month with fewer lacks days, and those of its days are fetched too
    sample     so many markets in the small fetch of a demo
    region     the AWS region of a bucket that bills the client for the transfer: requests are signed with its AWS
               credentials, and files are fetched only if the kind is named
    """

    endpoint: str
    host: str
    files: Bucket | PathOf
    period: re.Pattern[str]
    by: Literal["day", "month"]
    pool: str
    first: date
    days: int
    like: str | None
    top: int | None
    has: Callable[[str], bool] = lambda key: True
    name_of: Callable[[str], str] = lambda key: key
    checksum: Literal["sha256", "md5"] | None = None
    packing: Packing = "zip"
    months: PathOf | None = None
    absent: tuple[int, ...] = (404,)
    zone_h: int = 0
    last: date | None = None
    lines: int = 0
    sample: int = SAMPLE
    region: str | None = None

    @property
    def name(self) -> str:
        """Its name on the command line, in Dagster and in the state file."""
        return self.endpoint

    @property
    def addresses(self) -> list[str]:
        """Where files are, as examples: of a market `{symbol}`, of the first month."""
        if isinstance(self.files, Bucket):
            return [f"https://{self.host}/{folder}" for folder in self.files.folders("{symbol}", self.first)]
        return [f"https://{self.host}{path('{symbol}', self.first)}" for path in (self.files, self.months) if path]

    def period_of(self, path: str) -> Period | None:
        """The days of a file, by its name."""
        found = self.period.search(path)
        if found is None:
            return None
        digits = found[1].replace("-", "")
        day = date(int(digits[:4]), int(digits[4:6]), int(digits[6:] or 1))
        return (day, day + timedelta(days=1)) if digits[6:] else month_of(day)

    def periods(self, first: date, last: date) -> Iterator[Period]:
        """The periods from that of one day to that of another, the newest first."""
        begin = last if self.by == "day" else last.replace(day=1)
        while begin >= (first if self.by == "day" else first.replace(day=1)):
            yield begin, begin + timedelta(days=1) if self.by == "day" else _next_month(begin)
            begin -= timedelta(days=1)
            begin = begin if self.by == "day" else begin.replace(day=1)


def month_of(day: date) -> Period:
    """The month of a day."""
    return day.replace(day=1), _next_month(day)


def _next_month(day: date) -> date:
    return (day.replace(day=1) + timedelta(days=32)).replace(day=1)
