"""The landing: writes journalled rows as Parquet loads through a dlt pipeline."""

import json
import logging
import os
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from ingest.landing.dlt_files import MARKER, SCHEMA_NAME, finished_packages
from ingest.landing.loads import TABLE, LandingFault
from ingest.landing.rows import SCHEMA, Row, to_batch
from ingest.landing.store import (
    StoreDown,
    StoreFault,
    destination,
    is_remote,
    open_store,
    prove_writable,
    reason_of,
)

log = logging.getLogger(__name__)

LAYOUT = "{table_name}/{YYYY}-{MM}-{DD}/{load_id}.{file_id}.{ext}"
PIPELINE = "recorder"
TYPES = {pa.int64(): "bigint", pa.string(): "text"}


def check_landing(landing: str) -> None:
    """Raise LandingFault if an object store will take no rows as it is set up; one that is down may work later."""
    _parts(landing)
    try:
        with suppress(StoreDown):
            prove_writable(landing)
    except StoreFault as fault:
        raise LandingFault(f"{landing} takes no rows: {fault}") from fault


def _parts(landing: str) -> tuple[str, str]:
    """The folder or bucket of a landing, and its name in that."""
    parent, _, name = landing.rstrip("/").rpartition("/")
    if not name or parent.endswith(":/"):
        raise LandingFault(f"{landing} is no folder: give a folder in the bucket, such as s3://bucket/landing")
    return parent, name


class Landing:
    """The dlt pipeline. Use it from one thread. Journal files are kept until their load is committed."""

    def __init__(self, landing: str, state_dir: Path, name: str = PIPELINE) -> None:
        """`name`: the pipeline's; processes that land at the same time need different ones."""
        self.landing = landing
        self._name = name
        self._state_dir = state_dir
        self._pipeline: Any = None
        self._began = False

    def land_pending(self) -> bool:
        """Finish the load that an earlier run left pending. True if it is committed now.

        dlt can never finish what a process left that was killed between some two of its steps: a package of which only
        a part is deleted, or whose next folder is there already. So what another process left is tried once and then
        deleted: nothing is lost, because the rows of its packages are still in the journal. What this process left is
        kept until it is committed, so that a store that is down for long gets one data file, and not one per attempt.
        """
        pipeline = self.pipeline()
        of_another, self._began = not self._began, True
        if not pipeline.has_pending_data:
            return False
        try:
            self._attempt(pipeline, None)
        except LandingFault as fault:
            if not of_another:
                raise
            log.warning("What an earlier process left is landed from the journal: %s", fault)
            self._pipeline = None
            shutil.rmtree(self._state_dir / self._name)
            return False
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
            if is_remote(self.landing):
                self._pipeline = None  # The keys of a role expire: the next attempt takes those of then.
            # dlt wraps whatever the filesystem or the object store raises in exceptions of its own.
            raise LandingFault(self._blame(error)) from error
        if pipeline.has_pending_data:
            raise LandingFault(f"{self.landing} has not taken all rows yet")

    def _blame(self, error: BaseException) -> str:
        """One line: the place that could not be written, and the innermost reason."""
        reason = reason_of(error)
        while error.__cause__ is not None:
            error = error.__cause__
        at_home = (
            isinstance(error, OSError)
            and error.filename2 is None
            and str(error.filename).startswith(str(self._state_dir))
        )
        return f"{self._state_dir if at_home else self.landing} takes no rows: {reason}"

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

        parent, name = _parts(self.landing)
        self._state_dir.mkdir(parents=True, exist_ok=True)
        self._mark()
        layout = {"layout": LAYOUT, "enable_dataset_name_normalization": False, "max_state_files": 1}
        return dlt.pipeline(
            self._name,
            pipelines_dir=str(self._state_dir),
            destination=destination(parent, **layout),
            dataset_name=name,
            dev_mode=False,
        )

    def _mark(self) -> None:
        """Create dlt's marker file in the landing's folder.

        dlt creates the folder and then the marker, and fails for ever on a folder that has none or a truncated one: a
        mounted volume, a start that was killed in between, a full disk.
        """
        try:
            filesystem, root = open_store(self.landing)
            if not is_remote(self.landing):  # where it would make the bucket
                filesystem.makedirs(root, exist_ok=True)
            try:
                json.loads(filesystem.cat_file(f"{root}/{MARKER}") or b"null")
            except (FileNotFoundError, ValueError):
                filesystem.pipe_file(f"{root}/{MARKER}", b"")
        except Exception as error:
            if not (is_remote(self.landing) or isinstance(error, OSError)):
                raise
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
