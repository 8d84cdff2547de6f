"""How the served numbers are made, as tables of the replica: every model with its lineage and the SQL that dbt ran,
the exchanges' documents, every test with its last result, and what each resource of the API reads.

The SQL and the results are in the warehouse (orchestration/warehouse/compiled.py), so that each host that publishes
from it says the same.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb

from orchestration.warehouse.writer import literals

STATE = """
create table if not exists methodology_models (
    model varchar, layer varchar, description varchar, reads varchar[], venue varchar, endpoints varchar[],
    requests varchar[], fields json, document varchar);
create table if not exists methodology_columns (model varchar, column_name varchar, description varchar);
create table if not exists methodology_tests (
    test varchar, kind varchar, models varchar[], column_name varchar, description varchar);
create table if not exists methodology_results (
    test varchar, status varchar, failures bigint, message varchar, tested_ms bigint);
create table if not exists methodology_resources (resource varchar, reads varchar[]);
create table if not exists methodology_sql (model varchar, sql varchar);
create table if not exists methodology_window_sql (model varchar, sql varchar);
create table if not exists methodology_state (part varchar primary key, state varchar);
"""
# Models whose SQL names the files and the kinds of the window.
OF_WINDOW = "(starts_with(model, 'raw_window') or starts_with(model, 'staged_'))"
STREAMED = "wss"
COLUMN = re.compile(r'"(\w+)\\*":')
FIELD = re.compile(r"\br\.(\w+)")


def copy_methodology(con: duckdb.DuckDBPyConnection, manifest: Path) -> None:
    """Write the models if the project was parsed again, and the SQL and the results of the last build. Each minute's
    SQL is another one: it names times."""
    known = dict(con.execute("from methodology_state").fetchall())
    project = str(manifest.stat().st_mtime_ns)
    if known.get("models") != project:
        content = json.loads(manifest.read_bytes())
        _write(con, "tests", project, list(_tests(content)))
        _write(con, "resources", project, list(_resources(content)))
        _write(con, "columns", project, list(_columns(content)))
        _write(con, "models", project, [_model(node) for node in _models(content)])
    _copy(con, "sql", "compiled", "model, sql", f"not {OF_WINDOW}")
    _copy(con, "window_sql", "compiled", "model, sql", OF_WINDOW)
    _copy(con, "results", "test_results", "test, status, failures, message, tested_ms", "true")


def _copy(con: duckdb.DuckDBPyConnection, part: str, table: str, columns: str, where: str) -> None:
    """Copy a table of the pipeline; without rows before a build of this version has made it."""
    con.execute(f"delete from methodology_{part}")
    tables = "duckdb_tables() where database_name = 'warehouse' and schema_name = 'pipeline'"
    if con.execute(f"select 1 from {tables} and table_name = '{table}'").fetchone():
        con.execute(f"insert into methodology_{part} select {columns} from warehouse.pipeline.{table} where {where}")


def _write(con: duckdb.DuckDBPyConnection, part: str, state: str, rows: list[tuple[Any, ...]]) -> None:
    con.execute(f"delete from methodology_{part}")
    if rows:
        listed = ", ".join(f"({', '.join(map(_literal, row))})" for row in rows)
        con.execute(f"insert into methodology_{part} values {listed}")
    con.execute(f"insert or replace into methodology_state values ({literals(part, state)})")


def _literal(value: str | int | list[str] | None) -> str:
    return f"[{literals(*value)}]::varchar[]" if isinstance(value, list) else literals(value)


def _models(content: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for node in (*content["nodes"].values(), *content["sources"].values()):
        if node["resource_type"] in ("model", "seed", "source"):
            yield node


def _model(node: Mapping[str, Any]) -> tuple[Any, ...]:
    """A row of methodology_models."""
    meta, reads = node["config"].get("meta", {}), [_name(one) for one in node.get("depends_on", {}).get("nodes", [])]
    layer = node["fqn"][1] if node["resource_type"] == "model" else f"{node['resource_type']}s"
    endpoints = meta.get("endpoints", [])
    venue = node["name"].removeprefix("stg_").partition("__")[0] if endpoints else None
    fields = {
        column: _cased(text, node["raw_code"]) for column, text in meta.get("fields", {}).items() if column[0] != "_"
    }
    return (
        _full_name(node), layer, node["description"].strip(), reads, venue, endpoints,
        _requests(venue, endpoints) if venue else [], json.dumps(fields), meta.get("document"),
    )  # fmt: skip


def _columns(content: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Rows of methodology_columns: the columns of marts, which are the replica's tables."""
    for node in _models(content):
        if node["resource_type"] == "model" and node["fqn"][1] == "marts":
            for name, column in node["columns"].items():
                yield node["name"], name, column["description"].strip()


def _full_name(node: Mapping[str, Any]) -> str:
    source = node.get("source_name")
    return f"{source}.{node['name']}" if source else str(node["name"])


def _name(unique_id: str) -> str:
    """`model.tidemark.prices` → `prices`, `source.tidemark.landing.responses` → `landing.responses`."""
    return unique_id.split(".", 2)[2]


def _cased(text: str, code: str) -> str:
    """SQL that extracts a field, with the name as the exchange writes it: DuckDB's structs do not mind the case."""
    written: dict[str, str] = {name.lower(): name for name in COLUMN.findall(code)}
    return FIELD.sub(lambda match: written.get(str(match[1]), str(match[1])), text)


def _requests(venue: str, endpoints: list[str]) -> list[str]:
    """What is requested, as `GET https://host/path`, from the venue's declaration."""
    # Imported here: most publishes find the project unchanged and need no declarations.
    from ingest.venues import VENUES

    [declared] = [one for one in VENUES if one.name == venue]
    found = [f"{one.method} https://{one.host}{one.path}" for one in declared.endpoints if one.name in endpoints]
    found += [f"{STREAMED}://{one.host}{one.path}" for one in declared.streams if one.name in endpoints]
    found += [
        f"GET https://{one.host}{one.path}"
        for one in declared.history
        if one.endpoint in endpoints and isinstance(one.path, str)
    ]
    found += [f"GET {at}" for one in declared.archives if one.endpoint in endpoints for at in one.addresses]
    return list(dict.fromkeys(found))


def _resources(content: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Rows of methodology_resources: the paths of the API and the tools, as the exposures name them."""
    for node in content["exposures"].values():
        reads = [_name(one) for one in node["depends_on"]["nodes"] if one.startswith("model.")]
        yield node["label"] or node["name"], reads


def _tests(content: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Rows of methodology_tests: the tests of tables, and the unit tests of formulas."""
    for node in (*content["nodes"].values(), *content["unit_tests"].values()):
        if node["resource_type"] in ("test", "unit_test"):
            models = [_name(parent) for parent in node["depends_on"]["nodes"]]
            description = (node["description"] or "").strip()
            yield node["name"], node["resource_type"], models, node.get("column_name"), description
