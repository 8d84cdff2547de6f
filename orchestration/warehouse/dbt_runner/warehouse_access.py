"""A plugin of dbt-duckdb (profiles.yml): dbt's connection, by hand too, reads a landing that is in an object store, and
has the lake."""

import os

import duckdb
from dbt.adapters.duckdb.plugins import BasePlugin

from ingest.landing.store import give_access
from orchestration.config.places import is_lake
from orchestration.warehouse import lake


class Plugin(BasePlugin):
    """Gives the connection the landing's credentials and the lake, once it is open."""

    def configure_connection(self, conn: duckdb.DuckDBPyConnection) -> None:
        # Not from the profile: dbt would parse the project again for another landing.
        give_access(conn, [_setting("TIDEMARK_LANDING")])
        if is_lake(_setting("TIDEMARK_WAREHOUSE")):
            lake.attach(conn, _setting("TIDEMARK_WAREHOUSE"))

    def configure_cursor(self, cursor: duckdb.DuckDBPyConnection) -> None:
        if is_lake(_setting("TIDEMARK_WAREHOUSE")):
            cursor.execute(f"use {lake.NAME}")


def _setting(name: str) -> str:
    return os.environ.get(name, "").strip()
