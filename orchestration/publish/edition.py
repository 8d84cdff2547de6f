"""The published edition and the pointer to it: the file `current.json`, which readers follow."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb

from orchestration.warehouse.writer import PipelineError, connection, literals

REPLICAS = ("replica_a.duckdb", "replica_b.duckdb")
READ_WAIT_S = 30.0
POINTER = ("replica", "edition_id", "as_of_ms", "published_ms")
OF_PAST = ("past_started_ms", "past_took_ms")


@dataclass(frozen=True)
class Edition:
    """One published state, as `current.json` and the replica's `edition` table describe it. Of the file alone:
    `past_started_ms`, when the newest build of backfilled rows that it has began (UTC epoch ms; those that had landed
    by then are in it), and `past_took_ms`, the ms that it took."""

    edition_id: int
    as_of_ms: int
    published_ms: int
    recorded_since_ms: int | None
    build_id: int
    replica: str
    past_started_ms: int | None = None
    past_took_ms: int | None = None


class NothingPublishedError(PipelineError):
    """There is no edition yet."""

    def __init__(self, serving: Path) -> None:
        super().__init__(f"nothing has been published in {serving} yet")


def read_current(serving: Path) -> dict[str, Any] | None:
    """The edition in `current.json`, even if its replica is gone; None before the first publish, or if the file is
    unreadable."""
    try:
        current = json.loads((serving / "current.json").read_text())
    except (FileNotFoundError, ValueError):
        return None
    return current if isinstance(current, dict) and current.keys() >= set(POINTER) else None


@contextmanager
def attached(con: duckdb.DuckDBPyConnection, serving: Path, name: str) -> Iterator[dict[str, Any]]:
    """Attach the newest replica while the block runs; gives what `current.json` says of it."""
    deadline = time.monotonic() + READ_WAIT_S
    while True:
        current = read_current(serving)
        if current is None or not (serving / current["replica"]).exists():
            raise NothingPublishedError(serving)
        try:
            con.execute(f"attach {literals(str(serving / current['replica']))} as {name} (read_only)")
            break
        except duckdb.IOException:
            # The pointer has moved on, and the next publish already writes this file.
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.1)
    try:
        yield current
    finally:
        with suppress(duckdb.Error):
            con.execute(f"detach {name}")


def newest_replica(serving: Path) -> dict[str, Any] | None:
    """The edition that `current.json` should name if that file is lost: readers may still have the newest replica
    open."""
    found = []
    for name in REPLICAS:
        with suppress(duckdb.Error, PipelineError), connection(str(serving / name), read_only=True) as con:
            row = con.execute("select edition_id, as_of_ms, published_ms from edition").fetchone()
            found += [dict(zip(POINTER, (name, *row), strict=True))] if row else []
    return max(found, key=lambda current: current["edition_id"], default=None)


def point_to(serving: Path, edition: Edition) -> None:
    """Replace the pointer atomically, after syncing it to disk."""
    pointer = {name: asdict(edition)[name] for name in (*POINTER, *OF_PAST)}
    replace_text(serving / "current.json", json.dumps(pointer))


def replace_text(path: Path, text: str) -> None:
    """Replace a file atomically, after syncing it to disk."""
    written = path.with_name(f"{path.name}.new")
    with written.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    written.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Sync a folder's names of files to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
