"""One writer at a time: the lock that every build, publish and upkeep takes, and the connection to the warehouse.

The lock is <home>/writer.lock. Child processes that write (dbt) inherit it, so that a dbt whose parent was killed still
counts as the writer until it ends.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import duckdb

from orchestration.config import locks
from orchestration.config.places import is_file

Report = Callable[[str], None]
# The tables of the warehouse: beside a lake there are those of its catalog.
TABLES_SQL = "duckdb_tables() where database_name = current_database()"
# The oldest DuckDB that can open our files. Their form says of each row group which blocks describe it. In the form
# that DuckDB writes by default, the first checkpoint of a process reads all these descriptions: 0.1 s of CPU in a file
# of 1.7 GB, 0.7 in one of 28.
STORAGE_VERSION = "v1.4.0"
# The blocks of the files that we make. A cold series reads parts of some columns from a dozen row groups. Blocks of
# this size instead of DuckDB's usual four times as large ones take it two thirds of the time and half of the CPU, with
# the memory of a server, and a sixth more disk. Smaller ones gain nothing more. A minute's build begins a block for
# each of hundreds of columns that it writes: it touches a fifth less memory. A file keeps the blocks it was made with.
BLOCK_BYTES = 65_536
# DuckDB's configuration for a file that it makes.
FORM = {"storage_compatibility_version": STORAGE_VERSION, "default_block_size": str(BLOCK_BYTES)}
# In DuckDB's errors, which come as several types: of the file, of a commit, of a checkpoint.
NO_SPACE = "No space left on device"
WAIT_S = 120.0
POLL_S = 0.1


class PipelineError(RuntimeError):
    """A failure that a person can act on: the message says everything that is needed."""


class WriterBusyError(PipelineError):
    """Another process writes the warehouse or the replicas."""


class UnreadableError(PipelineError):
    """A file cannot be opened as a DuckDB database."""


class DiskFullError(PipelineError):
    """A database could not be written, because its disk is full. What was committed before stays."""

    def __init__(self, database: str) -> None:
        super().__init__(f"the disk of {database} is full: nothing is lost; free some space and run this again")


@contextmanager
def writer_lock(home: Path, purpose: str, *, wait_s: float = WAIT_S, report: Report = print) -> Iterator[int]:
    """Hold the writer lock while the block runs; yields the descriptor that a writing child process must inherit."""
    path, note = home / "writer.lock", f"{purpose} (process {os.getpid()})"
    deadline, waiting = time.monotonic() + wait_s, False
    while (descriptor := locks.take(path, note)) is None:
        holder = locks.note_of(path) or "another process"
        if time.monotonic() >= deadline:
            raise WriterBusyError(f"one writer at a time: {holder} has held {path} for over {wait_s:.0f} s")
        if not waiting:
            report(f"waiting for the writer lock, held by {holder}")
            waiting = True
        time.sleep(POLL_S)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def literals(*values: int | str | None) -> str:
    """Values as SQL literals, separated by commas. When a process binds its first query parameter, DuckDB imports
    pandas: a third of a second of CPU, which a minute's few statements are not worth."""
    return ", ".join(_literal(value) for value in values)


def note_settings(con: duckdb.DuckDBPyConnection, values: Mapping[str, str]) -> None:
    """Write rows of `pipeline.settings`, in place of those of the same names. (A lake has no `insert or replace`.)"""
    rows = ", ".join(f"({literals(*row)})" for row in values.items())
    con.execute(
        f"merge into pipeline.settings using (values {rows}) as noted(name, value) using (name) "
        "when matched then update set value = noted.value when not matched then insert"
    )


def _literal(value: int | str | None) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return "null" if value is None else str(value)


def _open(
    database: str, resources: Mapping[str, str | int] | None, read_only: bool, logged: bool
) -> duckdb.DuckDBPyConnection:
    if logged:
        # For a file that is there DuckDB does not regard this.
        made = is_file(database) and not read_only and not Path(database).exists()
        return duckdb.connect(database, read_only=read_only, config={**(FORM if made else {}), **(resources or {})})
    con = duckdb.connect(config={**(resources or {}), **spill_beside(database)})
    try:
        attach_unlogged(con, database)
    except duckdb.Error:
        con.close()
        raise
    return con


def attach_unlogged(con: duckdb.DuckDBPyConnection, database: str) -> None:
    """Attach a file without a log, as `connection` describes it, by its own name; it is the connection's database then,
    not yet that of its cursors. A file in an older form gets ours with what is written."""
    attach, unlogged = f"attach {literals(database)} as {catalog_of(database)}", "recovery_mode no_wal_writes"
    if not Path(database).exists():
        unlogged += f", block_size {BLOCK_BYTES}"
    try:
        con.execute(f"{attach} ({unlogged}, storage_version '{STORAGE_VERSION}')")
    except duckdb.InvalidInputException:
        # One in a newer form keeps it.
        con.execute(f"{attach} ({unlogged})")
    con.execute(f"use {catalog_of(database)}")


def catalog_of(database: str) -> str:
    """The name, in quotes, that DuckDB gives to the database in a file."""
    return f'"{Path(database).stem}"'


def spill_beside(database: str) -> dict[str, str]:
    """DuckDB's configuration for what does not fit into memory: beside the file, as of one that is opened by itself,
    and not in the folder in which we run."""
    return {"temp_directory": f"{database}.tmp"}


@contextmanager
def connection(
    database: str,
    resources: Mapping[str, str | int] | None = None,
    *,
    read_only: bool = False,
    checkpoint: bool = True,
    logged: bool = True,
    wait_s: float = 30.0,
    holder: str = "another process",
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB database, waiting a while if another process holds its lock; UnreadableError if it is not a
    database, DiskFullError if it cannot be written because its disk is full.

    `resources` bounds DuckDB's threads and memory; by default DuckDB uses the whole machine.

    Without `checkpoint` the written rows stay in the write-ahead log until another connection checkpoints: a checkpoint
    costs more the larger the file is (0.15 s at 8 GB), which a few rows are not worth.

    What is written is not `logged` where the caller checkpoints before anybody relies on it: a process that dies
    before leaves the file, and a log that was beside it, as they were. Cursors of such a connection begin outside of
    the database.
    """
    deadline = time.monotonic() + wait_s
    while True:
        try:
            con = _open(database, resources, read_only, logged)
            break
        except duckdb.IOException as error:
            if NO_SPACE in str(error):
                raise DiskFullError(database) from error
            if "Could not set lock" not in str(error):
                raise UnreadableError(
                    f"{database} cannot be opened: {error}; if the warehouse is damaged, `tidemark build --rebuild` "
                    "makes it again from the landing"
                ) from error
            if time.monotonic() >= deadline:
                raise WriterBusyError(
                    f"{holder} still holds {database} after {wait_s:.0f} s, so it cannot be opened: {error}"
                ) from error
            time.sleep(POLL_S)
    try:
        if not checkpoint:
            con.execute("pragma disable_checkpoint_on_shutdown")
        yield con
    except duckdb.Error as error:
        if NO_SPACE in str(error):
            raise DiskFullError(database) from error
        raise
    finally:
        con.close()
