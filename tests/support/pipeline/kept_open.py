"""Warehouses that stay open between a test's queries and dbt runs: one has hundreds of tables and views, and opening it
takes 50 to 90 ms of CPU. dbt, in the same process, shares the open database.

A test closes the file before it copies, replaces or moves it, and before another process or other options open it.
"""

import shutil
from pathlib import Path

import duckdb

# Tests that compare a few warehouses use them in turn; those of earlier tests need not stay open.
MOST = 4
_open: dict[Path, duckdb.DuckDBPyConnection] = {}


def cursor(path: Path) -> duckdb.DuckDBPyConnection:
    """A connection of its own to the warehouse at this path, to read and write; opens the file if it is not open."""
    kept = _open.pop(path, None) or duckdb.connect(str(path))
    _open[path] = kept  # the last one used is the last one
    while len(_open) > MOST:
        close(next(iter(_open)))
    return kept.cursor()


def close(path: Path) -> None:
    """Close a warehouse: all is in its file, and nothing keeps it locked."""
    if path in _open:
        _open.pop(path).close()


def copy(old: Path, new: Path) -> None:
    """Copy a warehouse over another one, or to a new place."""
    close(old)
    close(new)
    shutil.copyfile(old, new)
