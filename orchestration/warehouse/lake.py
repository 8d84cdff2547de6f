"""The warehouse as a lake: DuckLake, whose catalog is in PostgreSQL and whose rows are Parquet files in a folder or an
object store. Everything that differs from a DuckDB file is here.

A lake commits table by table, so a reader between two windows would find some tables newer than others. The commit that
closes a window has a message; readers open the newest snapshot with it (`CLOSED`).

Its extensions of DuckDB, and PostgreSQL's client, come with `pip install 'tidemark[lake]'`.
"""

import os
import re
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import duckdb

from ingest.landing.store import StoreFault, extension, give_access
from orchestration.config.places import LAKE
from orchestration.warehouse.writer import POLL_S, TABLES_SQL, PipelineError, Report, WriterBusyError

# The name under which every connection has the warehouse, as dbt's profile has it too.
NAME = "warehouse"
CATALOG = f"__ducklake_metadata_{NAME}"
CLOSED = "a window is closed"
EXTENSIONS = ("duckdb_extension_postgres_scanner", "duckdb_extension_ducklake")
# Any number does: advisory locks belong to one database, and a lake has a database of its own.
LOCK = 7_163_451
# A host that vanishes with the lock is noticed after a minute.
KEEPALIVE = "-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"
# Followers and those who read a snapshot have so long.
KEEP_S = 86_400.0
PASSWORD = re.compile(r"(?<=password=)('[^']*'|\S+)|(?<=://)([^:@/]*:)[^@/]*(?=@)")


class LakeError(PipelineError):
    """The lake cannot be used: the message says why."""


class Closed(NamedTuple):
    """The snapshot that closed a window, and when that was."""

    snapshot_id: int
    closed_ms: int


def shown(warehouse: str) -> str:
    """The setting without its password."""
    return PASSWORD.sub(lambda match: f"{match[2] or ''}…", warehouse)


def attach(
    con: duckdb.DuckDBPyConnection,
    warehouse: str,
    *,
    data: str | None = None,
    closed: bool = False,
    at: Closed | None = None,
) -> None:
    """Attach the lake to a connection as `warehouse`. `data`: where its rows are, for a lake that may not exist yet.
    `closed`: to be read as the newest closed window left it, or the one `at`; without it as it is."""
    for package in EXTENSIONS:
        con.execute(f"load '{_text(_extension(package))}'")
    # What is inserted is written as files at once: of rows that are kept in the catalog some were lost by maintenance.
    options = {"data_inlining_row_limit": "0"}
    try:
        if data is None:
            # Before the lake is attached, which already asks for what its files need.
            give_access(con, [_data_of(warehouse)])
        else:
            give_access(con, [data])
            options["data_path"] = f"'{_text(data)}/'"
        if closed:
            at = at or newest_closed(warehouse)
            options |= {"read_only": ""} if at is None else {"snapshot_version": str(at.snapshot_id)}
        listed = ", ".join(f"{name} {value}" for name, value in options.items())
        con.execute(f"attach '{_text(warehouse)}' as {NAME} ({listed})")
    except duckdb.Error as error:
        raise _explained(warehouse, error) from None


def newest_closed(warehouse: str) -> Closed | None:
    """The newest snapshot that closed a window; None if there is none, or no lake yet."""
    with _catalog(warehouse, "reader") as catalog:
        found = (
            _is_made(catalog)
            and catalog.execute(
                "select snapshot_id, (extract(epoch from snapshot_time) * 1000)::bigint from ducklake_snapshot "
                "join ducklake_snapshot_changes using (snapshot_id) where commit_message = %s "
                "order by snapshot_id desc limit 1",
                (CLOSED,),
            ).fetchone()
        )
    return Closed(*found) if found else None


def _data_of(warehouse: str) -> str:
    """Where the lake has its rows."""
    with _catalog(warehouse, "reader") as catalog:
        if not _is_made(catalog):
            raise LakeError(f"there is no lake in {shown(warehouse)} yet: `tidemark build` makes it")
        [(at,)] = catalog.execute("select value from ducklake_metadata where key = 'data_path'").fetchall()
    return str(at)


def _is_made(catalog: Any) -> bool:
    [(table,)] = catalog.execute("select to_regclass('ducklake_metadata')").fetchall()
    return table is not None


def note_closed(con: duckdb.DuckDBPyConnection, build_id: int) -> None:
    """Give the open transaction's snapshot the message that closes a window, if the connection is to a lake."""
    if con.execute(f"select 1 from duckdb_databases() where database_name = '{NAME}' and type = 'ducklake'").fetchone():
        con.execute(f"call {NAME}.set_commit_message('tidemark', '{CLOSED}', extra_info => '{build_id}')")


def connect(
    warehouse: str, resources: Mapping[str, str | int], *, closed: bool = False, at: Closed | None = None
) -> duckdb.DuckDBPyConnection:
    """A connection whose default database is the lake; `closed` and `at` as in `attach`."""
    con = duckdb.connect(":memory:", config={"autoinstall_known_extensions": False, **resources})
    try:
        attach(con, warehouse, closed=closed, at=at)
        con.execute(f"use {NAME}")
    except BaseException:
        con.close()
        raise
    return con


@contextmanager
def held(warehouse: str, data: str | None, purpose: str, wait_s: float, report: Report) -> Iterator[int]:
    """Hold the right to write the lake, on whatever host, and make the lake if it is not there; yields the descriptor
    that a writing child process must inherit, so that the lock is held until the child ends too."""
    with _catalog(warehouse, f"{purpose} on {socket.gethostname()} (process {os.getpid()})") as catalog:
        deadline, waits = time.monotonic() + wait_s, False
        while not catalog.execute("select pg_try_advisory_lock(%s)", (LOCK,)).fetchall()[0][0]:
            holder = _holder(catalog)
            if time.monotonic() >= deadline:
                raise WriterBusyError(
                    f"one writer at a time: {holder} has held {shown(warehouse)} for over {wait_s:.0f} s"
                )
            if not waits:
                report(f"waiting for the lake, held by {holder}")
                waits = True
            time.sleep(POLL_S)
        if data is not None and not _is_made(catalog):
            with duckdb.connect(":memory:") as con:
                attach(con, warehouse, data=data)
        yield catalog.fileno()


def maintain(con: duckdb.DuckDBPyConnection, warehouse: str, keep_s: float = KEEP_S) -> tuple[int, int]:
    """Merge the files that minutes wrote, write those again of which many rows are deleted, and remove what no snapshot
    of the last `keep_s` reads; returns how many snapshots and files are gone. The newest closed window stays, however
    old it is. LakeError if a table has another number of rows afterwards. The lock must be held."""
    counted, newest = _counts(con), newest_closed(warehouse)
    [(cut,)] = con.execute(f"select now() - to_seconds({keep_s})").fetchall()
    old = con.execute(
        f"select snapshot_id from {CATALOG}.ducklake_snapshot where snapshot_time < ? and snapshot_id < ?",
        [cut, newest.snapshot_id if newest else 0],
    ).fetchall()
    if old:
        con.execute(f"call ducklake_expire_snapshots('{NAME}', versions => {[number for (number,) in old]})")
    con.execute(f"call ducklake_rewrite_data_files('{NAME}')")
    con.execute(f"call ducklake_merge_adjacent_files('{NAME}')")
    # What was expired before the last `keep_s` at the earliest: somebody may still read it.
    gone = con.execute(f"call ducklake_cleanup_old_files('{NAME}', older_than => ?)", [cut]).fetchall()
    gone += con.execute(f"call ducklake_delete_orphaned_files('{NAME}', older_than => ?)", [cut]).fetchall()
    if (left := _counts(con)) != counted:
        wrong = {
            name: (counted.get(name), left.get(name)) for name in counted | left if counted.get(name) != left.get(name)
        }
        raise LakeError(f"maintenance changed the number of rows (table: before, after): {wrong}")
    return len(old), len(gone)


def _counts(con: duckdb.DuckDBPyConnection) -> dict[str, int]:
    tables = con.execute(f"select schema_name, table_name from {TABLES_SQL} order by all").fetchall()
    each = (f"select '{schema}.{name}', count(*) from {schema}.{name}" for schema, name in tables)
    return dict(con.execute(" union all ".join(each)).fetchall()) if tables else {}


def prove(warehouse: str) -> None:
    """LakeError if its catalog does not let this machine in, or something that it needs is not installed."""
    for package in EXTENSIONS:
        _extension(package)
    with _catalog(warehouse, "preflight"):
        pass


def _catalog(warehouse: str, name: str) -> Any:
    """A session of the catalog's database, which others see by this name."""
    try:
        import psycopg
    except ImportError:
        raise LakeError("a lake needs PostgreSQL's client: pip install 'tidemark[lake]'") from None
    try:
        return psycopg.connect(
            warehouse.removeprefix(LAKE), autocommit=True, application_name=name[:63], options=KEEPALIVE
        )
    except psycopg.Error as error:
        raise _explained(warehouse, error) from None


def _extension(package: str) -> str:
    try:
        return extension(package)
    except StoreFault as fault:
        raise LakeError(str(fault)) from None


def _holder(catalog: Any) -> str:
    found = catalog.execute(
        "select application_name from pg_locks join pg_stat_activity using (pid) "
        "where locktype = 'advisory' and objid = %s and granted and database = "
        "(select oid from pg_database where datname = current_database())",
        (LOCK,),
    ).fetchone()
    return found[0] if found else "another process"


def _explained(warehouse: str, error: Exception) -> LakeError:
    """The error without the password that DuckDB's own message has."""
    reason = str(error).replace(warehouse.removeprefix(LAKE), "the catalog")
    return LakeError(f"the lake {shown(warehouse)} cannot be opened: {PASSWORD.sub('…', reason).strip()}")


def _text(value: str) -> str:
    return value.replace("'", "''")
