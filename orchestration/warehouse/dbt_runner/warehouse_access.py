"""dbt's connection to the warehouse. A plugin of dbt-duckdb (profiles.yml), by hand too, has it read a landing that is
in an object store, and gives it the lake. A run that closes a window writes the warehouse's file without a log.

Of a minute of 15,000 markets the log was 70 of the 112 MB that its build writes, and a twentieth of the CPU. Nobody
needs it: a build that does not end is done again.
"""

import os
from copy import copy
from functools import cache
from typing import Any

import duckdb
from dbt.adapters.duckdb.connections import DuckDBConnectionManager
from dbt.adapters.duckdb.environments.local import LocalEnvironment
from dbt.adapters.duckdb.plugins import BasePlugin

from ingest.landing.store import give_access
from orchestration.config.places import is_lake
from orchestration.warehouse import lake
from orchestration.warehouse.writer import attach_unlogged, catalog_of, spill_beside


class Plugin(BasePlugin):
    """Gives the connection the landing's credentials and, where dbt itself opens a database in memory, the warehouse,
    once it is open."""

    logged = True

    def configure_connection(self, conn: duckdb.DuckDBPyConnection) -> None:
        # Not from the profile: dbt would parse the project again for another landing.
        give_access(conn, [_setting("TIDEMARK_LANDING")])
        if is_lake(_setting("TIDEMARK_WAREHOUSE")):
            lake.attach(conn, _setting("TIDEMARK_WAREHOUSE"))
        elif not self.logged:
            attach_unlogged(conn, _setting("TIDEMARK_WAREHOUSE"))

    def configure_cursor(self, cursor: duckdb.DuckDBPyConnection) -> None:
        if is_lake(_setting("TIDEMARK_WAREHOUSE")):
            cursor.execute(f"use {lake.NAME}")
        elif not self.logged:
            cursor.execute(f"use {catalog_of(_setting('TIDEMARK_WAREHOUSE'))}")


@cache
def leave_out_log() -> None:
    """From now on dbt writes no log beside the warehouse, which is a file, in this process, which calls `close` when
    dbt has ended: what it wrote is in memory until then. dbt has no setting for this."""
    environment: Any = LocalEnvironment
    initialize = environment.initialize_db
    Plugin.logged = False

    def initialize_unlogged(creds: Any, plugins: Any = None) -> duckdb.DuckDBPyConnection:
        in_memory = copy(creds)
        in_memory.path = ":memory:"
        in_memory.config_options = {**(creds.config_options or {}), **spill_beside(creds.path)}
        return initialize(in_memory, plugins)  # type: ignore[no-any-return]

    environment.initialize_db = staticmethod(initialize_unlogged)


def close() -> None:
    """Leave the warehouse. What was written without a log is in the file then; if that fails, as on a full disk, it
    raises duckdb.Error and the file is as it was. (DuckDB writes it also when it closes, but says nothing then.)

    What DuckDB has in memory is left to the end of the process: freeing it piece by piece takes a tenth of a second."""
    con = connection()
    if con is None or Plugin.logged:
        DuckDBConnectionManager.close_all_connections()  # type: ignore[no-untyped-call]
        return
    try:
        con.execute("checkpoint")
    except duckdb.Error:
        DuckDBConnectionManager.close_all_connections()  # type: ignore[no-untyped-call]
        raise
    con.execute("use memory")
    con.execute(f"detach {catalog_of(_setting('TIDEMARK_WAREHOUSE'))}")


def connection() -> duckdb.DuckDBPyConnection | None:
    """What dbt has opened; None if it has run nothing."""
    environment: Any = DuckDBConnectionManager._ENV
    return environment.conn if environment else None


def _setting(name: str) -> str:
    return os.environ.get(name, "").strip()
