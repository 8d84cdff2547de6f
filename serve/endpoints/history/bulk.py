"""GET /api/bulk and /api/bulk/{table}/{partition}/{file}: the finished days of the series as Parquet files."""

import itertools
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from serve.contract.endpoint import endpoint
from serve.contract.errors import ApiError, BadParameter, quote
from serve.contract.parameters import Values, utc_day, word
from serve.contract.schemas import INTEGER, TEXT, TEXT_OR_NULL, array_of, object_of
from serve.contract.serialize import PARQUET, Body, FileBody, json_body
from serve.replica.edition import VERSIONS, Reader
from serve.replica.units import DAY_MS

# In the folder of bulk files: what the writer lists.
MANIFEST = "manifest.json"
MAX_ROWS = 10_000
# A version never changes.
FOR_EVER_S = 31_536_000
NAME = re.compile(r"[a-z0-9_]+/(?:day|month)=[0-9-]+/(?P<sha256>[0-9a-f]{64})\.parquet", re.ASCII)
ROW = object_of(
    {
        "table": TEXT,
        "day": {**TEXT, "format": "date", "description": "First UTC day in the file."},
        "start": {**INTEGER, "description": "Start of what the file covers, UTC epoch ms."},
        "end": {
            **INTEGER,
            "description": "Its end (exclusive); of a month that goes on, that of its last finished day.",
        },
        "path": {**TEXT, "description": "Of this version, below this server's address."},
        "bytes": INTEGER,
        "rows": INTEGER,
        "sha256": {**TEXT, "description": "Of the file; also its ETag. It differs if the rows have changed."},
        "edition": {**INTEGER, "description": "The published state from which it was read."},
        "written": {**INTEGER, "description": "UTC epoch ms."},
        "buckets_missing": {**INTEGER, "description": "Steps of the time from start to end without a row."},
        "minutes_missing": {
            **INTEGER,
            "description": "Minutes in which nothing was recorded: rows of them are the exchanges' own history.",
        },
        "minutes_partial": {
            **INTEGER,
            "description": "Further minutes in which something of an exchange was not recorded; /api/gaps says what.",
        },
    }
)
COLUMN = object_of({"name": TEXT, "type": {**TEXT, "description": "As DuckDB names it."}, "description": TEXT})
SCHEMA = object_of(
    {
        "state": {"enum": ["ok", "empty"]},
        "rows": array_of(ROW, "One file each, by table and time."),
        "missing": array_of(
            object_of({"table": TEXT, "start": INTEGER, "end": INTEGER}),
            "Time between the first and the last file of a table of which there is no file.",
        ),
        "tables": array_of(
            object_of({"table": TEXT, "step": TEXT, "description": TEXT, "columns": array_of(COLUMN)}),
            "The tables of the rows.",
        ),
        "next": {
            **TEXT_OR_NULL,
            "description": f"The `after` of the request for the rest, after {MAX_ROWS:,} files; null: these are all.",
        },
        "source": TEXT,
    }
)


@endpoint(
    "/api/bulk",
    ttl=None,
    statuses=(200, 400, 503),
    table="rows",
    schema=SCHEMA,
    params={
        "table": word("One table; all of them without it.", "series_base_1d"),
        "from": utc_day("First UTC day."),
        "to": utc_day("Last UTC day."),
        "after": word("Path of a file: the files that follow it."),
    },
)
def bulk(query: Values, db: Reader) -> Body:
    """The Parquet files of the series' finished days: where they are, what is in them, and what is missing."""
    said = _manifest(db.bulk)
    tables: dict[str, Any] = said["tables"]
    if query["table"] and query["table"] not in tables:
        raise BadParameter(
            "table",
            query["table"],
            "use one of " + (", ".join(sorted(tables)) or "none: there are no files yet"),
            tables,
        )
    first, end = query["from"], None if query["to"] is None else query["to"] + DAY_MS
    chosen = [
        file
        for file in said["files"]
        if query["table"] in (None, file["table"])
        and (first is None or file["end"] > first)
        and (end is None or file["start"] < end)
    ]
    rest = [file for file in chosen if _path(file) > (query["after"] or "")]
    rows = rest[:MAX_ROWS]
    named = dict.fromkeys(file["table"] for file in chosen)
    return json_body(
        {
            "state": "ok" if rows else "empty",
            "rows": [_row(file) for file in rows],
            "missing": list(_missing(chosen)),
            "tables": [{"table": name, **tables[name]} for name in named],
            "next": _path(rows[-1]) if len(rest) > MAX_ROWS else None,
            "source": f"bulk@e{db.edition.edition_id}",
        }
    )


@endpoint(
    "/api/bulk/{table}/{partition}/{file}",
    ttl=FOR_EVER_S,
    statuses=(200, 206, 400, 404, 416),
    media=(PARQUET,),
    schema={},
    budget="bulk",
    params={
        "table": word("A table of /api/bulk.", "series_base_1d"),
        "partition": word("day=YYYY-MM-DD or month=YYYY-MM.", "month=2026-11"),
        "file": word("The version: its SHA-256.", "0" * 64 + ".parquet"),
    },
    sent=True,
)
def bulk_file(query: Values, folder: Path | None) -> FileBody:
    """A Parquet file of /api/bulk, whole or a range of its bytes, until two days after a newer version."""
    name = "/".join(query[part] for part in ("table", "partition", "file"))
    match = NAME.fullmatch(name)
    try:
        if folder and match:
            return FileBody(b"", PARQUET, file=(folder / VERSIONS / name).open("rb"), etag=f'"{match["sha256"]}"')
    except OSError:  # no file of this name, or a name that no file can have
        pass
    raise ApiError(
        404, f"there is no file {quote(name)}, or a newer version has replaced it; /api/bulk lists the files"
    )


def _row(file: dict[str, Any]) -> dict[str, Any]:
    day = f"{datetime.fromtimestamp(file['start'] / 1000, UTC):%Y-%m-%d}"
    return {
        **{name: file[name] for name in ROW["properties"] if name in file},
        "day": day,
        "path": _path(file),
        "written": file["written_ms"],
    }


def _path(file: dict[str, Any]) -> str:
    return f"/api/bulk/{file['table']}/{file['partition']}/{file['sha256']}.parquet"


def _missing(files: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for before, after in itertools.pairwise(files):
        if before["table"] == after["table"] and before["end"] < after["start"]:
            yield {"table": after["table"], "start": before["end"], "end": after["start"]}


def _manifest(folder: Path | None) -> dict[str, Any]:
    """What there is; nothing before the first file."""
    try:
        if folder:
            written = (folder / MANIFEST).stat()
            return _read(folder / MANIFEST, written.st_mtime_ns, written.st_ino)
    except FileNotFoundError:
        pass
    return {"files": [], "tables": {}}


@lru_cache(maxsize=1)
def _read(path: Path, written_ns: int, inode: int) -> dict[str, Any]:
    """The manifest, read once per modification."""
    said: dict[str, Any] = orjson.loads(path.read_bytes())
    return said
