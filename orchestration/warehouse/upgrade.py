"""A warehouse that an earlier version built, under the models of this one.

A column that a model has and its table has not is added: null where nothing has been built since, which is to say
unknown. A column that the model no longer has is dropped. What a later version built is refused, before anything is
changed.
"""

import json
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import duckdb

from orchestration.warehouse.writer import PipelineError, Report

WINDOWED = "windowed"


def this_version() -> str:
    """The version of the installed package."""
    return version("tidemark")


def check_version(built: Mapping[str, str]) -> None:
    """Raise PipelineError if a later version wrote the warehouse, by the settings that it holds."""
    theirs, ours = built.get("version", ""), this_version()
    if theirs and _parts(theirs) > _parts(ours):
        raise PipelineError(
            f"the warehouse was built by version {theirs}, and this is {ours}: install {theirs} or later, or make the "
            "warehouse again from the landing with `tidemark build --rebuild`"
        )


def _parts(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def adapt_tables(con: duckdb.DuckDBPyConnection, manifest: Path, report: Report = print) -> None:
    """Give the tables of the models the columns that the models have now, in one transaction."""
    con.execute("begin")
    for table, columns in _models(json.loads(manifest.read_text())):
        found = {name for name, *_ in con.execute(_COLUMNS.format(table)).fetchall()}
        if not found:
            continue  # The build makes it.
        for name in columns.keys() - found:
            con.execute(f'alter table main."{table}" add column "{name}" {columns[name]}')
            report(f"{table} has the new column {name}: unknown in what was built before")
        for name in found - columns.keys():
            con.execute(f'alter table main."{table}" drop column "{name}"')
            report(f"{table} has no column {name} any more")
    con.execute("commit")


_COLUMNS = """
select column_name from duckdb_columns()
where schema_name = 'main' and table_name = '{}' and database_name = current_database()
"""


def _models(manifest: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, str]]]:
    """Table and column → type, of each model whose table the builds go on with."""
    for node in manifest["nodes"].values():
        if node["resource_type"] == "model" and node["config"]["materialized"] == WINDOWED:
            yield node["alias"], {name: column["data_type"] for name, column in node["columns"].items()}
