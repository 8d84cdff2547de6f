"""The landing: journalled rows become Parquet loads through a dlt pipeline, and readers learn which are committed."""

import json
import logging
import os
import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa

from ingest.landing.rows import SCHEMA, Row, to_batch

log = logging.getLogger(__name__)

TABLE, LOADS = "responses", "_dlt_loads"
LAYOUT = "{table_name}/{YYYY}-{MM}-{DD}/{load_id}.{file_id}.{ext}"
PIPELINE = "recorder"
MARKER = "init"
TYPES = {pa.int64(): "bigint", pa.string(): "text"}


@dataclass(frozen=True)
class Load:
    """A committed load and its files, as paths or URLs that DuckDB reads."""

    load_id: str
    files: tuple[str, ...]


def committed_loads(landing: str, after: str | None = None) -> list[Load]:
    """The loads that are committed, by ascending load id; with `after`, those above it.

    A load is committed when dlt has written its row into `_dlt_loads` with status 0. With `after`, only the day
    folders from that load's day on are listed, so the cost does not grow with what was landed before.
    """
    filesystem, root = fsspec.core.url_to_fs(landing)
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
            load_id = name.removesuffix(".parquet").rpartition(".")[0]
            if name.endswith(".parquet") and (after is None or load_id > after):
                files.setdefault(load_id, []).append(f"{root}/{TABLE}/{day}/{name}")
    if not files:
        return []
    rows = {
        name.rpartition("__")[2].removesuffix(".jsonl"): f"{root}/{LOADS}/{name}"
        for name in (_rows_of(files, filesystem, root) if after else _names(filesystem, f"{root}/{LOADS}"))
    }
    return [
        Load(load_id, tuple(_readable(filesystem, path) for path in sorted(files[load_id])))
        for load_id in sorted(files)
        if load_id in rows and _is_committed(filesystem, rows[load_id])
    ]


def in_landing(landing: str, file: str) -> str:
    """Where a landed file is today, as `committed_loads` names it: since its path was noted the landing may have moved,
    with its home or to another store."""
    filesystem, root = fsspec.core.url_to_fs(landing)
    return _readable(filesystem, f"{root}/{TABLE}/{file.rpartition(f'/{TABLE}/')[2]}")


def _rows_of(load_ids: Iterable[str], filesystem: Any, root: str) -> list[str]:
    names = (f"{PIPELINE}__{load_id}.jsonl" for load_id in load_ids)
    return [name for name in names if filesystem.exists(f"{root}/{LOADS}/{name}")]


def _names(filesystem: Any, folder: str) -> list[str]:
    try:
        return [path.rstrip("/").rpartition("/")[2] for path in filesystem.ls(folder, detail=False)]
    except FileNotFoundError:
        return []


def _is_committed(filesystem: Any, path: str) -> bool:
    try:
        return bool(json.loads(filesystem.cat_file(path)).get("status") == 0)
    except (ValueError, FileNotFoundError):
        # Cut off by a crash or a full disk: dlt writes it again when the package is finished.
        return False


def _readable(filesystem: Any, path: str) -> str:
    local = "file" in ((filesystem.protocol,) if isinstance(filesystem.protocol, str) else filesystem.protocol)
    return str(path) if local else str(filesystem.unstrip_protocol(path))


class LandingFault(Exception):
    """The landing took no rows; the message names the path and the reason."""


class Landing:
    """The dlt pipeline. Use it from one thread. Journals stay where they are until their load is committed."""

    def __init__(self, landing: str, state_dir: Path, name: str = PIPELINE) -> None:
        """`name` sets apart processes that land at the same time."""
        self.landing = landing
        self._name = name
        self._state_dir = state_dir
        self._pipeline: Any = None

    def land_pending(self) -> bool:
        """Finish what an earlier run left behind. True if there was something."""
        pipeline = self._opened()
        if not pipeline.has_pending_data:
            return False
        self._attempt(pipeline, None)
        return True

    def land(self, tables: Iterable[pa.Table]) -> None:
        """Land the rows as one load, each table a row group; returns when it is committed.

        The tables are taken one by one, none before the one before it is written. Pending packages must have been
        landed before.
        """
        pipeline = self._opened()
        if pipeline.has_pending_data:
            # dlt would load the old package and silently drop the new rows.
            raise LandingFault("an earlier load is still pending")
        self._attempt(pipeline, tables)

    def _attempt(self, pipeline: Any, tables: Iterable[pa.Table] | None) -> None:
        try:
            pipeline.run(None if tables is None else self._source(tables))
            self._forget_loaded()
        except Exception as error:
            # dlt raises its own exceptions around anything that the filesystem or the object store raises.
            raise LandingFault(self._blame(error)) from error
        if pipeline.has_pending_data:
            raise LandingFault(f"{self.landing} has not taken everything yet")

    def _blame(self, error: BaseException) -> str:
        """One line: which place took no rows, and the innermost reason."""
        while error.__cause__ is not None:
            error = error.__cause__
        if not isinstance(error, OSError):
            return f"{self.landing} takes no rows: {(str(error) or repr(error)).strip().splitlines()[-1]}"
        at_home = error.filename2 is None and str(error.filename).startswith(str(self._state_dir))
        return f"{self._state_dir if at_home else self.landing} takes no rows: {error.strerror or error}"

    def _opened(self) -> Any:
        if self._pipeline is None:
            try:
                self._pipeline = self._open()
            except LandingFault:
                raise
            except Exception:
                if not (self._state_dir / self._name).exists():
                    raise
                # Nothing is lost: the rows of packages in there are still in the journal.
                aside = self._state_dir.with_name(f"{self._state_dir.name}.broken-{time.time_ns() // 1_000_000}")
                log.exception("The pipeline's state is unreadable: moved to %s, landing from the journal", aside)
                self._state_dir.rename(aside)
                self._pipeline = self._open()
        return self._pipeline

    def _open(self) -> Any:
        # dlt reads these when it starts. The import is here because readers of committed loads need no dlt.
        os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"
        os.environ["RUNTIME__LOG_LEVEL"] = "CRITICAL"
        os.environ["RESTORE_FROM_DESTINATION"] = "false"
        # The next round tries again; trying here for seconds only keeps that round waiting.
        os.environ["LOAD__RAISE_ON_MAX_RETRIES"] = "2"
        os.environ["LOAD__DELETE_COMPLETED_JOBS"] = "true"
        # A table is written when it comes; dlt would gather them up to 5,000 rows, whatever these weigh.
        os.environ["DATA_WRITER__BUFFER_MAX_ITEMS"] = "1"
        import dlt

        parent, _, name = self.landing.rstrip("/").rpartition("/")
        if not name or parent.endswith(":/"):
            raise LandingFault(f"{self.landing} is no folder: give a folder in the bucket, such as s3://bucket/landing")
        destination = dlt.destinations.filesystem(
            bucket_url=parent or "/",
            layout=LAYOUT,
            enable_dataset_name_normalization=False,
            max_state_files=1,
        )
        self._state_dir.mkdir(parents=True, exist_ok=True)
        self._mark()
        return dlt.pipeline(
            self._name, pipelines_dir=str(self._state_dir), destination=destination, dataset_name=name, dev_mode=False
        )

    def _mark(self) -> None:
        """Make dlt's marker file in the landing's folder.

        dlt makes the folder and then the marker, and fails for ever on a folder that has none or half of one: a
        mounted volume, a start that was killed in between, a full disk. It completes an empty marker.
        """
        try:
            filesystem, root = fsspec.core.url_to_fs(self.landing)
            filesystem.makedirs(root, exist_ok=True)
            try:
                json.loads(filesystem.cat_file(f"{root}/{MARKER}") or b"null")
            except (FileNotFoundError, ValueError):
                filesystem.pipe_file(f"{root}/{MARKER}", b"")
        except OSError as error:
            raise LandingFault(self._blame(error)) from error

    def _source(self, tables: Iterable[pa.Table]) -> Any:
        import dlt

        columns: Any = {
            field.name: {"name": field.name, "data_type": TYPES[field.type], "nullable": field.nullable}
            for field in SCHEMA
        }
        schema = dlt.Schema(PIPELINE)
        schema.update_table({"name": TABLE, "columns": columns, "write_disposition": "append", "resource": TABLE})
        items: Any = iter(tables)
        resource = dlt.resource(items, name=TABLE, columns=columns, write_disposition="append")
        return dlt.source(lambda: resource, schema=schema, schema_contract="freeze")()

    def _forget_loaded(self) -> None:
        # dlt keeps a folder per finished package for ever.
        for folder in (self._state_dir / self._name / "load" / "loaded").glob("*"):
            shutil.rmtree(folder, ignore_errors=True)


def land(rows: Iterable[Row] | pa.Table, landing: str, state_dir: Path) -> None:
    """Land rows as one load, after whatever is still pending in `state_dir`."""
    target = Landing(landing, state_dir)
    target.land_pending()
    target.land([rows if isinstance(rows, pa.Table) else pa.Table.from_batches([to_batch(rows)])])
