"""The SQLite files in which a backfill stores what it has fetched, so that a kill at any moment costs nothing."""

import sqlite3
from pathlib import Path


def open_state(path: Path, table: str) -> sqlite3.Connection:
    """A file with one table, `name (columns, …)`, which is made if it is missing. Each statement commits by itself."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = sqlite3.connect(path, isolation_level=None)
    file.execute("pragma journal_mode = wal")
    # A power failure may lose the last rows: what they say is fetched again, which changes nothing.
    file.execute("pragma synchronous = normal")
    file.execute(f"create table if not exists {table} without rowid")
    return file
