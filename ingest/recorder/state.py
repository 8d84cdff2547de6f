"""The recorder's state file, which `tidemark status` reads, and the lock on its folder."""

import fcntl
import os
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TextIO

import orjson

from ingest.landing.rows import Row
from ingest.recorder.span import STOPPED


class RecorderBusy(Exception):
    """Another process works in the same folder."""


@dataclass
class VenueState:
    """The outcomes of a venue's latest finished minute, and its last error."""

    ok: int = 0
    failed: int = 0
    last_ok_ms: int | None = None
    last_error: str | None = None
    last_error_ms: int | None = None


@dataclass
class State:
    """The state of the recorder; times are UTC epoch ms."""

    pid: int
    started_ms: int
    last_tick_ms: int | None = None
    last_landed_ms: int | None = None
    landing_error: str | None = None
    journal_error: str | None = None
    venues: dict[str, VenueState] = field(default_factory=dict)

    def note(self, row: Row) -> None:
        """Note the outcome of a row."""
        venue = self.venues[row.venue]
        if row.error is None:
            venue.last_ok_ms = row.received_ms
        elif row.error != STOPPED:
            venue.last_error = " ".join(filter(None, (row.endpoint, row.key))) + f": {row.error}"
            venue.last_error_ms = row.received_ms or row.requested_ms

    def write(self, path: Path) -> None:
        """Replace the file atomically; on a full disk it stays as it was, and recording continues."""
        scratch = path.with_suffix(".tmp")
        with suppress(OSError):
            scratch.write_bytes(orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2))
            scratch.replace(path)


def lock(home: Path, who: str = "recorder") -> TextIO:
    """Lock the folder while the returned file is open: two recorders would land every row twice."""
    home.mkdir(parents=True, exist_ok=True)
    holder = (home / "lock").open("a+")
    try:
        fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder.seek(0)
        pid = holder.read().strip() or "unknown"
        holder.close()
        raise RecorderBusy(f"another {who} (process {pid}) works in {home}") from None
    holder.truncate(0)
    holder.write(str(os.getpid()))
    holder.flush()
    return holder


def name_of(home: Path) -> str:
    """The name of a folder's recorder, made once at random: what two recorders heard of one stream is kept apart by it.
    A disk that is full gives a name that lasts as long as the process."""
    file = home / "name"
    with suppress(OSError):
        if name := file.read_text().strip():
            return name
    name = secrets.token_hex(4)
    with suppress(OSError):
        home.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    return name
