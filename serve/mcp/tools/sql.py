"""sql_query: the caller's own query on the newest edition, or what its tables and columns are."""

from collections.abc import Coroutine
from typing import Any, NamedTuple

from serve.contract.errors import ApiError, BadParameter, argument_details
from serve.contract.parameters import Param, Values, word
from serve.contract.schemas import INTEGER, TEXT, TEXT_OR_NULL, array_of, object_of
from serve.mcp.arguments import string, whole_number
from serve.mcp.statements import MOST_BYTES, Statements
from serve.mcp.tool import Tool, ToolResult, fresh_until
from serve.queries.figures.tables import read_columns, read_tables
from serve.replica.edition import Edition, Reader
from serve.replica.units import UNIT_MS, Span

MOST_CHARS, MOST_ROWS = 10_000, 1000
METHOD = "DuckDB on a read-only copy of the warehouse's marts; t and *_ms are UTC epoch ms."
CUT = {
    "rows": "There are more rows: aggregate, filter, or raise limit.",
    "bytes": f"There are more rows, of which {MOST_BYTES // 1024} KiB are given: choose fewer columns.",
}


class SqlQuery(NamedTuple):
    """A query to run, or a table to describe; neither: all tables."""

    statement: str | None
    table: str | None
    limit: int


def resolve(values: Values, edition: Edition, keyed: bool) -> SqlQuery:
    """The canonical query."""
    if values["statement"] is not None and values["table"] is not None:
        details = argument_details("table", values["table"], "statement or table, not both")
        raise ApiError(400, "table: give statement or table, not both", details=details)
    return SqlQuery(**values)


def run(query: SqlQuery, edition: Edition, statements: Statements) -> Coroutine[Any, Any, ToolResult] | None:
    """The rows of the query, from a process of its own; None if there is none to run."""
    if query.statement is None:
        return None
    return _rows(query.statement, query.limit, edition, statements)


async def _rows(statement: str, limit: int, edition: Edition, statements: Statements) -> ToolResult:
    found = await statements.run(statement, edition.path, limit)
    warnings = []
    if found["truncated"]:
        warnings.append({"code": "truncated", "message": CUT[found["truncated"]]})
    data = {"columns": found["columns"], "rows": found["rows"], "tables": []}
    return _result(data, edition, warnings)


def answer(query: SqlQuery, db: Reader) -> ToolResult:
    """The tables, or one table's columns."""
    tables = read_tables(db)
    if query.table is None:
        brief = [{**one, "description": (one["description"] or "").partition(". ")[0] or None} for one in tables]
        return _result({"columns": [], "rows": [], "tables": brief}, db.edition, [])
    known = {one["name"]: one for one in tables}
    if query.table not in known:
        raise BadParameter("table", query.table, "use one of the tables that a call without arguments lists", known)
    data = {"columns": read_columns(db, query.table), "rows": [], "tables": [known[query.table]]}
    return _result(data, db.edition, [])


def _result(data: dict[str, Any], edition: Edition, warnings: list[dict[str, Any]]) -> ToolResult:
    as_of, minute = edition.as_of_ms, UNIT_MS["m"]
    span = Span(as_of - minute, as_of)
    return ToolResult(
        data=data,
        units={},
        span=span,
        known=span,
        fresh_until_ms=fresh_until(as_of - minute, minute, span, edition),
        source=f"e{edition.edition_id}",
        method=METHOD,
        warnings=warnings,
        page="/catalog",
    )


def _statement(name: str, text: str) -> str:
    if len(text) > MOST_CHARS:
        raise BadParameter(name, text, f"use at most {MOST_CHARS} characters")
    return text


SQL_QUERY = Tool(
    "sql_query",
    "SQL on the newest edition",
    "Runs one read-only DuckDB query on the newest edition's tables, for questions that no other tool answers. Without"
    " arguments lists the tables; with table, its columns and their meaning.",
    {
        "statement": string(Param("One query.", _statement, {"type": "string"})),
        "table": string(word("Describe this table.")),
        "limit": whole_number("At most so many rows.", 1, MOST_ROWS, 100),
    },
    object_of(
        {
            "columns": array_of(object_of({"name": TEXT, "type": TEXT, "description": TEXT_OR_NULL}, ("description",))),
            "rows": array_of(array_of({}), "In the order of columns."),
            "tables": array_of(object_of({"name": TEXT, "description": TEXT_OR_NULL, "columns": INTEGER})),
        }
    ),
    resolve,
    answer,
    run=run,
)
