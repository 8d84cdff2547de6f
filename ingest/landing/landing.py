"""The landing: writes journalled rows as Parquet loads through a dlt pipeline, and lists the committed loads."""

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

from ingest.landing.dlt_files import (
    LOADS,
    MARKER,
    SCHEMA_NAME,
    commit_file,
    committed_id,
    data_load_id,
    finished_packages,
)
from ingest.landing.rows import SCHEMA, Row, to_batch

log = logging.getLogger(__name__)

TABLE = "responses"
LAYOUT = "{table_name}/{YYYY}-{MM}-{DD}/{load_id}.{file_id}.{ext}"
PIPELINE = "recorder"
TYPES = {pa.int64(): "bigint", pa.string(): "text"}


@dataclass(frozen=True)
class Load:
    """A committed load and its files, as paths or URLs that DuckDB reads."""

    load_id: str
    files: tuple[str, ...]


def committed_loads(landing: str, after: str | None = None) -> list[Load]:
    """The committed loads by ascending load id; with `after`, those above it.

    A load is committed when dlt has written its row into `_dlt_loads` with status 0. With `after`, only the day
    folders since that load's day are listed, so that the cost does not grow with what was landed before.
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
            load_id = data_load_id(name)
            if name.endswith(".parquet") and (after is None or load_id > after):
                files.setdefault(load_id, []).append(f"{root}/{TABLE}/{day}/{name}")
    if not files:
        return []
    rows = {
        committed_id(name): f"{root}/{LOADS}/{name}"
        for name in (_commits_of(files, filesystem, root) if after else _names(filesystem, f"{root}/{LOADS}"))
    }
    return [
        Load(load_id, tuple(_readable(filesystem, path) for path in sorted(files[load_id])))
        for load_id in sorted(files)
        if load_id in rows and _is_committed(filesystem, rows[load_id])
    ]


def in_landing(landing: str, file: str) -> str:
    """The present path of a landed file, as `committed_loads` names it.

    The landing may have moved since the path was stored: with its home, or to another store.
    """
    filesystem, root = fsspec.core.url_to_fs(landing)
    return _readable(filesystem, f"{root}/{TABLE}/{file.rpartition(f'/{TABLE}/')[2]}")


def _commits_of(load_ids: Iterable[str], filesystem: Any, root: str) -> list[str]:
    names = map(commit_file, load_ids)
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
        # Truncated by a crash or a full disk: dlt writes it again when it finishes the package.
        return False


def _readable(filesystem: Any, path: str) -> str:
    local = "file" in ((filesystem.protocol,) if isinstance(filesystem.protocol, str) else filesystem.protocol)
    return str(path) if local else str(filesystem.unstrip_protocol(path))


class LandingFault(Exception):
    """Rows could not be landed; the message names the path and the reason."""


class Landing:
    """The dlt pipeline. Use it from one thread. Journal files are kept until their load is committed."""

    def __init__(self, landing: str, state_dir: Path, name: str = PIPELINE) -> None:
        """`name`: the pipeline's; processes that land at the same time need different ones."""
        self.landing = landing
        self._name = name
        self._state_dir = state_dir
        self._pipeline: Any = None

    def land_pending(self) -> bool:
        """Finish the load that an earlier run left pending. True if there was one."""
        pipeline = self.pipeline()
        if not pipeline.has_pending_data:
            return False
        self._attempt(pipeline, None)
        return True

    def land(self, tables: Iterable[pa.Table]) -> None:
        """Land the rows as one load, each table a row group; returns when it is committed.

        The tables are taken one by one, each after the previous one is written. Pending packages must have been
        landed before.
        """
        pipeline = self.pipeline()
        if pipeline.has_pending_data:
            # dlt would load the old package and silently drop the new rows.
            raise LandingFault("an earlier load is still pending")
        self._attempt(pipeline, tables)

    def _attempt(self, pipeline: Any, tables: Iterable[pa.Table] | None) -> None:
        try:
            pipeline.run(None if tables is None else self._source(tables))
            self.delete_finished()
        except Exception as error:
            # dlt wraps whatever the filesystem or the object store raises in exceptions of its own.
            raise LandingFault(self._blame(error)) from error
        if pipeline.has_pending_data:
            raise LandingFault(f"{self.landing} has not taken all rows yet")

    def _blame(self, error: BaseException) -> str:
        """One line: the place that could not be written, and the innermost reason."""
        while error.__cause__ is not None:
            error = error.__cause__
        if not isinstance(error, OSError):
            return f"{self.landing} takes no rows: {(str(error) or repr(error)).strip().splitlines()[-1]}"
        at_home = error.filename2 is None and str(error.filename).startswith(str(self._state_dir))
        return f"{self._state_dir if at_home else self.landing} takes no rows: {error.strerror or error}"

    def pipeline(self) -> Any:
        """The dlt pipeline, opened at the first use."""
        if self._pipeline is None:
            try:
                self._pipeline = self._open()
            except LandingFault:
                raise
            except Exception:
                if not (self._state_dir / self._name).exists():
                    raise
                # Nothing is lost: the rows of its packages are still in the journal.
                aside = self._state_dir.with_name(f"{self._state_dir.name}.broken-{time.time_ns() // 1_000_000}")
                log.exception("The pipeline's state is unreadable: moved to %s, landing from the journal", aside)
                self._state_dir.rename(aside)
                self._pipeline = self._open()
        return self._pipeline

    def _open(self) -> Any:
        # dlt reads these when it starts. It is imported here because readers of committed loads need no dlt.
        os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"
        os.environ["RUNTIME__LOG_LEVEL"] = "CRITICAL"
        os.environ["RESTORE_FROM_DESTINATION"] = "false"
        # The next landing retries; retrying here for seconds would only delay it.
        os.environ["LOAD__RAISE_ON_MAX_RETRIES"] = "2"
        os.environ["LOAD__DELETE_COMPLETED_JOBS"] = "true"
        # Write each table at once; dlt would buffer up to 5,000 rows, however large they are.
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
        """Create dlt's marker file in the landing's folder.

        dlt creates the folder and then the marker, and fails for ever on a folder that has none or a truncated one: a
        mounted volume, a start that was killed in between, a full disk.
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
        schema = dlt.Schema(SCHEMA_NAME)
        schema.update_table({"name": TABLE, "columns": columns, "write_disposition": "append", "resource": TABLE})
        items: Any = iter(tables)
        resource = dlt.resource(items, name=TABLE, columns=columns, write_disposition="append")
        return dlt.source(lambda: resource, schema=schema, schema_contract="freeze")()

    def delete_finished(self) -> None:
        """Delete the folders of finished packages, which dlt keeps for ever."""
        for folder in finished_packages(self._state_dir, self._name):
            shutil.rmtree(folder, ignore_errors=True)


def land(rows: Iterable[Row] | pa.Table, landing: str, state_dir: Path) -> None:
    """Land rows as one load, after any load that is still pending in `state_dir`."""
    target = Landing(landing, state_dir)
    target.land_pending()
    target.land([rows if isinstance(rows, pa.Table) else pa.Table.from_batches([to_batch(rows)])])
