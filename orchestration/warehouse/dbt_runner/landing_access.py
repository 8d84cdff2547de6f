"""A plugin of dbt-duckdb (profiles.yml): dbt's connection reads a landing that is in an object store, by hand too."""

import os

import duckdb
from dbt.adapters.duckdb.plugins import BasePlugin

from ingest.landing.store import give_access


class Plugin(BasePlugin):
    """Gives the connection the landing's credentials, once it is open."""

    def configure_connection(self, conn: duckdb.DuckDBPyConnection) -> None:
        # Not from the profile: dbt would parse the project again for another landing.
        give_access(conn, [os.environ.get("TIDEMARK_LANDING", "").strip()])
