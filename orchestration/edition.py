"""The published edition and the pointer to it: `current.json`, which readers follow."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Edition:
    """One published state: what `current.json` and the replica's `edition` table say."""

    edition_id: int
    as_of_ms: int
    published_ms: int
    recorded_since_ms: int | None
    build_id: int
    replica: str


def read_current(serving: Path) -> dict[str, Any] | None:
    """What readers are pointed to; None before the first publish."""
    try:
        current: dict[str, Any] = json.loads((serving / "current.json").read_text())
    except FileNotFoundError:
        return None
    return current if (serving / current["replica"]).exists() else None


def point_to(serving: Path, edition: Edition) -> None:
    """Flip the pointer: on disk before it is visible, and visible at once."""
    pointer = {name: asdict(edition)[name] for name in ("replica", "edition_id", "as_of_ms", "published_ms")}
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
