"""Closing a window: what is done when its models are built.

A window of few minutes is closed in dbt's own process, on dbt's connection: all that the build changed, and that it is
built, becomes durable in one checkpoint, and the publish need not wait for it (see
`orchestration/publish/at_once.py`). Any other window, and one that dbt built without the dbt server, is closed by the
process that opened it.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from orchestration.config.places import is_file
from orchestration.config.settings import Settings
from orchestration.warehouse.access import open_warehouse
from orchestration.warehouse.compiled import note_compiled
from orchestration.warehouse.quarantine import forget_retried, minutes_to_retry
from orchestration.warehouse.watermark import Build, close_window
from orchestration.warehouse.windows import Window

# The file, beside the server's socket, that says how dbt's process closed its last window.
CLOSED = "closed.json"
# A window of more minutes, or of the past, is checkpointed in parts while it is built, so that its rows need not fit
# into memory.
MOST_MINUTES = 5
# Linux takes 128 KiB as one environment variable.
MOST_BYTES = 100_000


@dataclass(frozen=True)
class Closing:
    """A window whose models are built next, the rows of `pipeline.settings` that are written when it is closed,
    whether an edition of it is wanted at once, and when the run began that asks for it (UTC epoch ms). `token`
    identifies it."""

    window: Window
    state: Mapping[str, str]
    publish: bool = False
    run_started_ms: float | None = None
    token: str = field(default_factory=lambda: uuid4().hex)

    def as_variable(self, settings: Settings) -> str:
        """The value of the environment variable CLOSING; empty where dbt's own process cannot close the window."""
        text = json.dumps(asdict(self))
        few = len(self.window.minutes) <= MOST_MINUTES and not self.window.past_minutes
        fits = few and len(text) <= MOST_BYTES
        return text if fits and is_file(settings.warehouse) else ""

    @classmethod
    def from_variable(cls, text: str) -> "Closing":
        fields: dict[str, Any] = json.loads(text)
        return cls(**{**fields, "window": Window(**_with_tuples(fields["window"]))})


@dataclass(frozen=True)
class Closed:
    """How a window was closed: its build, whether more waits, and the edition with its timeline if it was published
    at once, as they are in JSON."""

    build: Build
    more: bool
    edition: Mapping[str, Any] | None = None
    timeline: Mapping[str, Any] | None = None


def close(settings: Settings, closing: Closing) -> Closed:
    """Move the watermark, and note what dbt ran."""
    with open_warehouse(settings, checkpoint=False) as con:
        note_compiled(con, settings.dbt_target / "compiled")
        build = close_window(con, closing.window, closing.state)
        forget_retried(con, closing.window)
        more = closing.window.more or bool(minutes_to_retry(con, closing.state["project"], 1))
    return Closed(build, more)


def note_closed(settings: Settings, closing: Closing, closed: Closed) -> None:
    """Say how a window was closed, to the process that opened it."""
    file = _note(settings)
    written = file.with_suffix(".new")
    written.write_text(json.dumps({"token": closing.token, **asdict(closed)}))
    written.replace(file)


def closed_by_dbt(settings: Settings, closing: Closing) -> Closed | None:
    """How dbt's process closed this window; None if it did not."""
    try:
        noted = json.loads(_note(settings).read_text())
    except FileNotFoundError:
        return None
    if noted.pop("token") != closing.token:
        return None
    return Closed(Build(**_with_tuples(noted.pop("build"))), **noted)


def _with_tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A dataclass's fields as they were before JSON made lists of them."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


def _note(settings: Settings) -> Path:
    return settings.dbt_target.parent / CLOSED
