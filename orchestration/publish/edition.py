"""The published edition and the pointer to it: the file `current.json`, which readers follow."""

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb

from orchestration.warehouse.writer import PipelineError, connection

REPLICAS = ("replica_a.duckdb", "replica_b.duckdb")
POINTER = ("replica", "edition_id", "as_of_ms", "published_ms")


@dataclass(frozen=True)
class Edition:
    """One published state, as `current.json` and the replica's `edition` table describe it."""

    edition_id: int
    as_of_ms: int
    published_ms: int
    recorded_since_ms: int | None
    build_id: int
    replica: str


def read_current(serving: Path) -> dict[str, Any] | None:
    """The edition in `current.json`, even if its replica is gone; None before the first publish, or if the file is
    unreadable."""
    try:
        current = json.loads((serving / "current.json").read_text())
    except (FileNotFoundError, ValueError):
        return None
    return current if isinstance(current, dict) and current.keys() >= set(POINTER) else None


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
    pointer = {name: asdict(edition)[name] for name in POINTER}
    written = serving / "current.json.new"
    with written.open("w") as file:
        json.dump(pointer, file)
        file.flush()
        os.fsync(file.fileno())
    written.replace(serving / "current.json")
    folder = os.open(serving, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
