"""What the fetching of the past says about itself: the state file that `tidemark status` and the API read."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from ingest.landing.rows import Row
from ingest.recorder.client import clock, now_ms

WRITE_MS = 1000
TOLD = 20
"""Failed spans that are listed; all are counted."""


@dataclass
class Progress:
    """Of one venue or one of its kinds: milliseconds of markets' time that were and are missing, and what came."""

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


@dataclass
class BackfillState:
    """Times are UTC epoch ms."""

    pid: int
    started_ms: int
    path: Path
    finished_ms: int | None = None
    stopped: bool = False
    landing_error: str | None = None
    kinds: dict[tuple[str, str], Progress] = field(default_factory=dict)
    venues: dict[str, Progress] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    say: Callable[[str], None] | None = None
    tell: Path | None = None
    _written_ms: int = 0

    def expect(self, venue: str, spans: Sequence[tuple[str, int]]) -> None:
        """What is missing of a venue's kinds."""
        self._of(venue)
        for kind, length in spans:
            for progress in self._of(venue, kind):
                progress.asked_ms += length
        self.write()

    def got(self, venue: str, kind: str, rows: int, settled_ms: int, row: Row) -> None:
        """An answer is in the journal."""
        for progress in self._of(venue, kind):
            progress.done_ms += settled_ms
            progress.requests += 1
            progress.rows += rows
            progress.body_bytes += len(row.body or "")
        if now_ms() - self._written_ms >= WRITE_MS:
            self.write()

    def fail(self, venue: str, error: str, at_ms: int) -> None:
        """A request went wrong; it may come again."""
        progress = self._of(venue)[0]
        progress.last_error, progress.last_error_ms = error, at_ms
        if self.say:
            self.say(f"{venue}: {error}")

    def give_up(self, venue: str, kind: str, key: str, span: tuple[int, int]) -> None:
        """A span is left out of this run."""
        for progress in self._of(venue, kind):
            progress.failed += 1
        if len(self.failed) < TOLD:
            self.failed.append(f"{venue} {kind} {key} from {clock(span[0])} to {clock(span[1])}")

    def end(self, at_ms: int, *, stopped: bool) -> None:
        """The run is over."""
        self.finished_ms, self.stopped = at_ms, stopped
        self.write()

    @property
    def total(self) -> Progress:
        """Of all venues."""
        parts = self.venues.values()
        names = ("asked_ms", "done_ms", "requests", "rows", "body_bytes", "failed")
        return Progress(*(sum(getattr(part, name) for part in parts) for name in names))

    @property
    def state(self) -> str:
        """`running`, `stopped`, `done`, or `partly` where spans are missing."""
        if self.finished_ms is None:
            return "running"
        if self.stopped:
            return "stopped"
        whole = all(part.done_ms >= part.asked_ms and not part.failed for part in self.venues.values())
        return "done" if whole and not self.landing_error and not self._unlisted() else "partly"

    def _unlisted(self) -> bool:
        return any(part.last_error and not part.asked_ms for part in self.venues.values())

    def summary(self) -> dict[str, Any]:
        """What the file holds."""
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
        }

    def write(self) -> None:
        """Replace the files at once; a full disk costs their freshness and nothing else."""
        self._written_ms = now_ms()
        content = orjson.dumps(self.summary(), option=orjson.OPT_INDENT_2)
        for path in (self.path, self.tell):
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
