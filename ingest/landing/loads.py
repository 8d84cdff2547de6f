"""The committed loads of a landing and their files: how they are found, by readers of the landing and of nothing else.

It imports neither dlt nor Arrow, which a build of one minute would wait for.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from ingest.landing.dlt_files import LOADS, commit_file, committed_id, data_load_id
from ingest.landing.store import StoreFault, is_no_bucket, is_remote, open_store, reason_of

TABLE = "responses"
# In the name of a compacted file.
COMPACTED = ".compacted-"


@dataclass(frozen=True)
class Load:
    """A committed load and its files, as paths or URLs that DuckDB reads."""

    load_id: str
    files: tuple[str, ...]


class LandingFault(StoreFault):
    """Rows could not be landed or listed; the message names the path and the reason."""


def committed_loads(landing: str, after: str | None = None) -> list[Load]:
    """The committed loads by ascending load id; with `after`, those above it.

    A load is committed when dlt has written its row into `_dlt_loads` with status 0. With `after`, only the day
    folders since that load's day are listed, so that the cost does not grow with what was landed before. LandingFault
    if the landing cannot be listed.
    """
    try:
        return _committed_loads(landing, after)
    except Exception as error:
        if not is_remote(landing):
            raise
        # An object store's client has exceptions of several kinds.
        raise LandingFault(f"{landing} cannot be listed: {reason_of(error)}") from error


def _committed_loads(landing: str, after: str | None) -> list[Load]:
    filesystem, root = open_store(landing)
    filesystem.invalidate_cache()
    first_day = ""
    if after is not None:
        # A load's folder is the day of its creation; one day back covers a load made at midnight.
        first_day = (datetime.fromtimestamp(float(after), UTC) - timedelta(days=1)).strftime("%Y-%m-%d")
    files: dict[str, list[str]] = {}
    for day in _names(filesystem, f"{root}/{TABLE}"):
        if day < first_day:
            continue
        for name in _names(filesystem, f"{root}/{TABLE}/{day}"):
            load_id = data_load_id(name)
            if name.endswith(".parquet") and (after is None or load_id > after):
                files.setdefault(load_id, []).append(f"{root}/{TABLE}/{day}/{name}")
    if not files:
        return []
    names = map(commit_file, files) if after else _names(filesystem, f"{root}/{LOADS}")
    committed = _committed(filesystem, {committed_id(name): f"{root}/{LOADS}/{name}" for name in names}, files.keys())
    return [
        Load(load_id, tuple(_readable(filesystem, path) for path in sorted(files[load_id])))
        for load_id in sorted(files)
        if load_id in committed
    ]


def in_landing(landing: str, file: str) -> str:
    """The present path of a landed file, as `committed_loads` names it.

    The landing may have moved since the path was stored: with its home, or to another store.
    """
    filesystem, root = open_store(landing)
    return _readable(filesystem, f"{root}/{TABLE}/{file.rpartition(f'/{TABLE}/')[2]}")


def _names(filesystem: Any, folder: str) -> list[str]:
    try:
        return [path.rstrip("/").rpartition("/")[2] for path in filesystem.ls(folder, detail=False)]
    except FileNotFoundError as error:
        if is_no_bucket(error):
            raise
        return []


def _committed(filesystem: Any, rows: Mapping[str, str], wanted: Collection[str]) -> set[str]:
    """Those of the wanted load ids whose row says so: load id → path of its row."""
    paths = [path for load_id, path in rows.items() if load_id in wanted]
    # At once: an object store takes some ten milliseconds for each.
    contents: dict[str, Any] = filesystem.cat(paths, on_error="return") if paths else {}
    if isinstance(contents, bytes):
        contents = {paths[0]: contents}
    return {load_id for load_id, path in rows.items() if path in contents and _is_committed(contents[path])}


def _is_committed(content: bytes | Exception) -> bool:
    if isinstance(content, FileNotFoundError):
        return False
    if isinstance(content, Exception):
        raise content
    try:
        return bool(json.loads(content).get("status") == 0)
    except ValueError:
        # Truncated by a crash or a full disk: dlt writes it again when it finishes the package.
        return False


def _readable(filesystem: Any, path: str) -> str:
    local = "file" in ((filesystem.protocol,) if isinstance(filesystem.protocol, str) else filesystem.protocol)
    return str(path) if local else str(filesystem.unstrip_protocol(path))
