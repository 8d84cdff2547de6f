"""How the warehouse is opened, and who may write it, whatever TIDEMARK_WAREHOUSE names: a file, a lake, MotherDuck."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

import duckdb

from orchestration.config.places import is_file, is_lake
from orchestration.config.settings import Settings
from orchestration.warehouse import lake
from orchestration.warehouse.writer import (
    WAIT_S,
    Report,
    attach_unlogged,
    catalog_of,
    connection,
    literals,
    writer_lock,
)

# dbt's connection, while `holding` runs.
_held: ContextVar[duckdb.DuckDBPyConnection | None] = ContextVar("held", default=None)
# What a publish sets for its own replica, and DuckDB for all databases that are attached.
SET_BY_PUBLISH = ("threads", "checkpoint_threshold", "max_vacuum_tasks", "disabled_compression_methods")


@contextmanager
def warehouse_lock(
    settings: Settings, purpose: str, *, wait_s: float = WAIT_S, report: Report = print
) -> Iterator[int]:
    """Hold the writer lock of this home, and that of a lake, which hosts share; yields the descriptor that a writing
    child process must inherit. A lake that is not there yet is made."""
    with writer_lock(settings.home, purpose, wait_s=wait_s, report=report) as descriptor:
        if not is_lake(settings.warehouse):
            yield descriptor
            return
        with lake.held(settings.warehouse, settings.lake_data, purpose, wait_s, report) as shared:
            yield shared


@contextmanager
def holding(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """While the block runs, this thread opens the warehouse file as a cursor of this connection, which has it already,
    and has replicas attached to it: what dbt has built is read before it is in the file."""
    token = _held.set(con)
    try:
        yield
    finally:
        _held.reset(token)


@contextmanager
def open_warehouse(
    settings: Settings, *, read_only: bool = False, checkpoint: bool = True
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the warehouse with a build's threads and memory; `checkpoint` as in `writer.connection`."""
    with open_by_name(settings.warehouse, settings.build_resources, read_only=read_only, checkpoint=checkpoint) as con:
        yield con


@contextmanager
def open_by_name(
    warehouse: str,
    resources: Mapping[str, str | int] | None = None,
    *,
    read_only: bool = False,
    checkpoint: bool = True,
    at: lake.Closed | None = None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """`open_warehouse` without the settings. A lake that is opened to be read is as its newest closed window left it,
    or the one `at`."""
    if (held := _held.get()) is not None:
        with held.cursor() as con:
            con.execute(f"use {catalog_of(warehouse)}")
            yield con
        return
    if not is_lake(warehouse):
        with connection(warehouse, resources, read_only=read_only, checkpoint=checkpoint) as con:
            yield con
        return
    with lake.connect(warehouse, resources or {}, closed=read_only, at=at) as con:
        yield con


def has_its_name(warehouse: str) -> bool:
    """Whether the database in this file has the name that a publish reads it by."""
    return is_file(warehouse) and Path(warehouse).stem == lake.NAME


def newest_closed(warehouse: str) -> lake.Closed | None:
    """The newest closed window of a lake; None if there is none yet, or if the warehouse is no lake."""
    return lake.newest_closed(warehouse) if is_lake(warehouse) else None


@contextmanager
def open_replica(
    replica: Path, resources: Mapping[str, str | int], *, logged: bool, wait_s: float
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a replica file to write it, waiting a while if a reader holds it; errors are those of `connection`."""
    if (held := _held.get()) is None:
        with connection(str(replica), resources, logged=logged, wait_s=wait_s, holder="a reader") as con:
            yield con
        return
    with held.cursor() as con:
        settings = ", ".join(f"current_setting('{name}')" for name in SET_BY_PUBLISH)
        [before] = con.execute(f"select {settings}").fetchall()
        attach_unlogged(con, str(replica))
        try:
            yield con
        finally:
            with suppress(duckdb.TransactionException):
                con.rollback()
            con.execute("use memory")
            con.execute(f"detach {catalog_of(str(replica))}")
            for name, value in zip(SET_BY_PUBLISH, before, strict=True):
                con.execute(f"set {name} = {literals(value)}")


def attach(con: duckdb.DuckDBPyConnection, warehouse: str, at: lake.Closed | None = None) -> None:
    """Attach the warehouse as `warehouse` to a connection with another database, as a publish may read it; a lake as
    its newest closed window left it, or the one `at`. `detach` ends this."""
    if _held.get() is not None:
        return
    if is_lake(warehouse):
        lake.attach(con, warehouse, closed=True, at=at)
    elif warehouse.startswith("md:"):
        # MotherDuck does not attach a database of one's own read-only. Another name is possible because naming the
        # database makes it a session of that database alone.
        con.execute(f"attach {literals(warehouse)} as {lake.NAME}")
    else:
        con.execute(f"attach {literals(warehouse)} as {lake.NAME} (read_only)")


def detach(con: duckdb.DuckDBPyConnection) -> None:
    if _held.get() is None:
        con.execute(f"detach {lake.NAME}")


def exists(warehouse: str) -> bool:
    """Whether something may have been built. What is not a file on this machine is not looked for."""
    return not is_file(warehouse) or Path(warehouse).exists()


def maintain(settings: Settings, *, wait_s: float = WAIT_S, report: Report = print) -> str:
    """Daily maintenance of a lake; returns a line about it, which is empty for other warehouses."""
    if not is_lake(settings.warehouse):
        return ""
    with warehouse_lock(settings, "maintenance", wait_s=wait_s, report=report), open_warehouse(settings) as con:
        snapshots, files = lake.maintain(con, settings.warehouse)
    return f"{snapshots} snapshots and {files} files removed from the lake"
