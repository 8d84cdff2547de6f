"""What an exchange publishes of its past as files: one a market and day, listed in a bucket, each with its checksum."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from ingest.declaration.history import SAMPLE

PUBLISHED_WITHIN_DAYS = 7
"""A file that is not listed so long after its day is missing; before, it may still come."""


@dataclass(frozen=True)
class Archive:
    """Files with the past of one kind, zipped CSV with one member each.

    endpoint   the files' text is landed under this name, which ends in `_history`
    host       where the files are; `path` + `.CHECKSUM` is one line, `<sha256>  <name>`
    bucket     (host, path) of the list of files, as S3 lists objects
    folder     (market) → the folder of its files, which is the prefix in the list
    day        finds the UTC day (YYYY-MM-DD) in the name of a file
    pool       the rate limit that requests count against
    has        (market) → whether the archive can have it
    first      no file is older
    days       how many days back unless the fetch says otherwise
    like       the recorded endpoint whose markets these are
    top        so many markets, by rank
    sample     so many markets in the small fetch of a demo
    """

    endpoint: str
    host: str
    bucket: tuple[str, str]
    folder: Callable[[str], str]
    day: re.Pattern[str]
    pool: str
    has: Callable[[str], bool]
    first: date
    days: int
    like: str
    top: int
    sample: int = SAMPLE

    @property
    def name(self) -> str:
        """Its name on the command line, in Dagster and in the state file."""
        return self.endpoint
