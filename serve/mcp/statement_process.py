"""Runs one statement on a replica, in a process of its own that ends with it.

It is started by its path and isolated from the environment, so it imports nothing of the server: a statement can reach
the replica's tables, and beside them nothing that the server knows. The request is JSON on its input, the answer JSON
on its output: `columns` and `rows`, or `refused` (the kind) with a `message`.
"""

import math
import os
import resource
import signal
import sys
from typing import Any

import duckdb
import orjson

# A cell's text beyond this is cut: rows are read by models.
MOST_CHARS = 2000
GREATEST_EXACT = 2**53
OPTIONS = orjson.OPT_NON_STR_KEYS


def main() -> None:
    """Answer the request."""
    request = orjson.loads(sys.stdin.buffer.read())
    confine(request["seconds"], request["address_bytes"])
    try:
        answer = run(request)
    except duckdb.Error as error:
        answer = {"refused": kind_of(error), "message": str(error).strip()}
    except MemoryError:
        answer = {"refused": "memory", "message": "out of memory"}
    sys.stdout.buffer.write(orjson.dumps(answer, option=OPTIONS))


def confine(seconds: int, address_bytes: int) -> None:
    """Limits that the system enforces: time by the clock and of the CPU, memory, and no byte written to a file."""
    os.nice(10)
    # Also where the server that started it is gone.
    signal.alarm(seconds + 1)
    for what, most in (
        (resource.RLIMIT_CPU, seconds + 1),
        (resource.RLIMIT_AS, address_bytes),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))


def run(request: dict[str, Any]) -> dict[str, Any]:
    """The rows of the statement, or why it is refused."""
    con = open_replica(request["replica"], request["memory"])
    statements = con.extract_statements(request["statement"])
    if len(statements) != 1:
        found = ", ".join(one.type.name for one in statements) or "none"
        return {"refused": "several" if statements else "empty", "message": found}
    if statements[0].type != duckdb.StatementType.SELECT:
        return {"refused": "kind", "message": statements[0].type.name}
    # Inside a query only a query can stand: what DuckDB rewrites into one, such as a pragma, is refused by its parser.
    text = f"from (\n{statements[0].query.strip().rstrip(';')}\n) limit {request['rows'] + 1}"
    result = con.execute(text)
    columns = [{"name": name, "type": str(type_)} for name, type_, *_ in result.description or []]
    rows: list[list[Any]] = []
    size = 0
    while row := result.fetchone():
        if len(rows) == request["rows"]:
            return {"columns": columns, "rows": rows, "truncated": "rows"}
        values = [plain(value) for value in row]
        size += len(orjson.dumps(values, option=OPTIONS))
        if size > request["bytes"]:
            return {"columns": columns, "rows": rows, "truncated": "bytes"}
        rows.append(values)
    return {"columns": columns, "rows": rows, "truncated": None}


def open_replica(path: str, memory: str) -> duckdb.DuckDBPyConnection:
    """The replica, read-only, with a configuration that no statement can change: no file or address is opened, no
    extension loaded, nothing written to disk, and no variable here is a table."""
    con = duckdb.connect(
        path,
        read_only=True,
        config={
            "threads": 1,
            "memory_limit": memory,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
        },
    )
    # In this order: the folder of temporary files is a matter of access too.
    con.execute("set temp_directory = ''; set enable_external_access = false; set TimeZone = 'UTC'")
    con.execute("set lock_configuration = true")
    return con


def kind_of(error: duckdb.Error) -> str:
    """Which kind of refusal an error of DuckDB is."""
    if isinstance(error, duckdb.OutOfMemoryException):
        return "memory"
    if isinstance(error, duckdb.PermissionException):
        return "outside"
    return "syntax" if isinstance(error, duckdb.ParserException) else "error"


def plain(value: Any) -> Any:
    """A value as JSON has it: what no number holds exactly is text, what is no number is null."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= GREATEST_EXACT else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    text = value.hex() if isinstance(value, bytes) else str(value)
    return text if len(text) <= MOST_CHARS else f"{text[:MOST_CHARS]}…"


if __name__ == "__main__":
    main()
