"""The state file of a backfill: its progress, which `tidemark status` and the API read."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from ingest.landing.rows import Row
from ingest.recorder.clock import as_text, now_ms

WRITE_MS = 1000
LISTED = 20
"""Failed spans that the file lists; all are counted."""


@dataclass
class Progress:
    """The progress of one venue, or of one of its kinds.

    asked_ms  the missing spans of all markets together, ms, when the run began
    done_ms   how much of it has been fetched, ms
    """

    asked_ms: int = 0
    done_ms: int = 0
    requests: int = 0
    rows: int = 0
    body_bytes: int = 0
    failed: int = 0
    last_error: str | None = None
    last_error_ms: int | None = None

    def summary(self) -> dict[str, Any]:
        share = 1.0 if not self.asked_ms else min(1.0, self.done_ms / self.asked_ms)
        return {
            "share": round(share, 4),
            "requests": self.requests,
            "rows": self.rows,
            "body_bytes": self.body_bytes,
            "failed": self.failed,
            "last_error": self.last_error,
            "last_error_ms": self.last_error_ms,
        }


ALONE = " for the requests alone"
"""Of a time that does not know how much there is to land."""
ON_DISK = 10
"""How many times their listed, compressed size files take on disk with all that is made of them: the landing before it
is packed, the warehouse, the minutes of files, and two replicas. Measured: 7.5 for a year of minutes, 11 for 90 days of
5 minutes with their tiers."""


@dataclass(frozen=True)
class Estimate:
    """What is missing of a kind: its markets, the requests for it (for files and their checksums too), the files with
    their listed bytes (None: there is no list), and how long the rate limit `pool` takes for the requests, or landing
    for the files."""

    name: str
    pool: str
    markets: int
    requests: int
    seconds: float
    files: int = 0
    file_bytes: int | None = 0

    def __str__(self) -> str:
        what, alone = f"{self.requests:,} requests", ""
        if self.files and self.file_bytes is None:
            what, alone = f"{self.files:,} files of unknown size", ALONE
        elif self.files:
            what = f"{self.files:,} files, {sizes(self.file_bytes or 0)}"
        return f"{self.name}: {what}, {self.markets:,} markets, {minutes(self.seconds)}{alone}"


def sizes(file_bytes: int) -> str:
    """The listed size of files, and what they take on disk, in words."""
    on_disk = f" (about {file_bytes * ON_DISK / 1e9:,.2f} GB on disk)" if file_bytes else ""
    return f"{file_bytes / 1e6:,.1f} MB{on_disk}"


def minutes(seconds: float) -> str:
    """A time that limits take, in words."""
    return f"about {seconds / 60:,.0f} min" if seconds >= 90 else "less than 2 min"


def load_bytes_before(path: Path) -> int | None:
    """The size of loads that the run before this one ended with; None without one, or if its file is unreadable."""
    try:
        found = orjson.loads(path.read_bytes())["load_bytes"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, int) else None


@dataclass
class BackfillState:
    """The state of one run; times are UTC epoch ms. `copy` is a second file that it is written to; unless it is
    `written`, there is no file. `estimates` are those of the missing data, by venue; `days` the first and last of the
    days that are fetched and landed whole; `load_bytes` the size of loads that this machine builds in time."""

    pid: int
    started_ms: int
    path: Path
    finished_ms: int | None = None
    stopped: bool = False
    landing_error: str | None = None
    kinds: dict[tuple[str, str], Progress] = field(default_factory=dict)
    venues: dict[str, Progress] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    absent: dict[str, dict[str, Any]] = field(default_factory=dict)
    estimates: dict[str, list[Estimate]] = field(default_factory=dict)
    report_error: Callable[[str], None] | None = None
    report_estimate: Callable[[str], None] | None = None
    report_share: Callable[[float], None] | None = None
    copy: Path | None = None
    written: bool = True
    days: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    load_bytes: int | None = None
    _written_ms: int = 0

    def expect(self, venue: str, spans: Sequence[tuple[str, int]]) -> None:
        """Add the missing spans of a venue: (kind, length in ms)."""
        self._of(venue)
        for kind, length in spans:
            for progress in self._of(venue, kind):
                progress.asked_ms += length
        self.write()

    def estimate(self, venue: str, estimate: Estimate) -> None:
        """Add what is missing of a kind."""
        if estimate.requests:
            self.estimates.setdefault(venue, []).append(estimate)
            if self.report_estimate:
                self.report_estimate(f"{venue} {estimate}")

    def record_progress(self, venue: str, kind: str, rows: int, covered_ms: int, row: Row) -> None:
        """Count a journalled response: the rows in its body, and the time that they cover, ms."""
        for progress in self._of(venue, kind):
            progress.done_ms += covered_ms
            progress.requests += 1
            progress.rows += rows
            progress.body_bytes += len(row.body or "")
        if now_ms() - self._written_ms >= WRITE_MS:
            self.write()

    def fail(self, venue: str, error: str, at_ms: int) -> None:
        """Note a failed request; it may be retried."""
        progress = self._of(venue)[0]
        progress.last_error, progress.last_error_ms = error, at_ms
        if self.report_error:
            self.report_error(f"{venue}: {error}")

    def note_absent(self, venue: str, kind: str, key: str, day: str, *, missing: bool) -> None:
        """Count a day without a file in an archive: `missing` if it should be there by now, else not published yet."""
        counts = self.absent.setdefault(f"{venue} {kind}", {"missing": 0, "unpublished": 0, "days": []})
        counts["missing" if missing else "unpublished"] += 1
        if missing and len(counts["days"]) < LISTED:
            counts["days"].append(f"{key} {day}")

    def give_up(self, venue: str, kind: str, key: str, span: tuple[int, int]) -> None:
        """Count a span as failed for this run."""
        for progress in self._of(venue, kind):
            progress.failed += 1
        if len(self.failed) < LISTED:
            self.failed.append(f"{venue} {kind} {key} from {as_text(span[0])} to {as_text(span[1])}")

    def end(self, at_ms: int, *, stopped: bool) -> None:
        """Note the end of the run, and write the files."""
        self.finished_ms, self.stopped = at_ms, stopped
        self.write()

    @property
    def total(self) -> Progress:
        """The progress of all venues together."""
        parts = self.venues.values()
        names = ("asked_ms", "done_ms", "requests", "rows", "body_bytes", "failed")
        return Progress(*(sum(getattr(part, name) for part in parts) for name in names))

    @property
    def state(self) -> str:
        """`running`, `stopped`, `done`, or `partly` if spans are missing."""
        if self.finished_ms is None:
            return "running"
        if self.stopped:
            return "stopped"
        whole = all(part.done_ms >= part.asked_ms and not part.failed for part in self.venues.values())
        return "done" if whole and not self.failed and not self.landing_error and not self._unlisted() else "partly"

    def _unlisted(self) -> bool:
        return any(part.last_error and not part.asked_ms for part in self.venues.values())

    def summary(self) -> dict[str, Any]:
        """The content of the file."""
        kinds: dict[str, dict[str, Any]] = {}
        for (venue, kind), progress in self.kinds.items():
            kinds.setdefault(venue, {})[kind] = progress.summary()
        return {
            "pid": self.pid,
            "state": self.state,
            "started_ms": self.started_ms,
            "finished_ms": self.finished_ms,
            "landing_error": self.landing_error,
            **self.total.summary(),
            "venues": {name: part.summary() | {"kinds": kinds.get(name, {})} for name, part in self.venues.items()},
            "failed_spans": self.failed,
            "absent_files": self.absent,
            "fetched_days": self.days,
            "load_bytes": self.load_bytes,
        }

    def write(self) -> None:
        """Replace the files atomically; on a full disk they stay as they were, and the run continues."""
        self._written_ms = now_ms()
        if self.report_share:
            self.report_share(self.total.summary()["share"])
        if not self.written:
            return
        content = orjson.dumps(self.summary(), option=orjson.OPT_INDENT_2)
        for path in (self.path, self.copy):
            if path is not None:
                scratch = path.with_suffix(".tmp")
                with suppress(OSError):
                    path.parent.mkdir(parents=True, exist_ok=True)
                    scratch.write_bytes(content)
                    scratch.replace(path)

    def _of(self, venue: str, kind: str | None = None) -> list[Progress]:
        found = [self.venues.setdefault(venue, Progress())]
        if kind is not None:
            found.append(self.kinds.setdefault((venue, kind), Progress()))
        return found
