"""The rows of a response as CSV, Parquet or Arrow.

The types of the columns follow from the schema that the endpoint declares: they are the same whatever the rows hold.
"""

import csv
import io
from collections.abc import Callable, Mapping
from typing import Any

import orjson
import pyarrow as pa

from serve.contract.schemas import Schema
from serve.contract.serialize import ARROW, CSV, PARQUET, Body, arrow_body, parquet_body

FORMATS = ("json", "csv", "parquet", "arrow")
MEDIA = ("text/csv", PARQUET, ARROW)
SIMPLE: Mapping[str, pa.DataType] = {
    "number": pa.float64(),
    "integer": pa.int64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
}
OF_PYTHON: Mapping[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string"}


def body_of_rows(content: dict[str, Any], name: str, row: Schema, form: str, source: str) -> Body:
    """The rows that a JSON response has under `name`, in one of FORMATS besides JSON.

    What the response has beside them is in the metadata of Parquet and Arrow. In CSV a `#` line names the `source`, and
    an object or a list is JSON in its cell.
    """
    rows = content.pop(name)
    if form == "csv":
        return Body(_csv(rows, [*row["properties"]], source), CSV)
    fields = [(field, arrow_type(schema)) for field, schema in row["properties"].items()]
    columns = [pa.array([_for_arrow(one.get(field), kind) for one in rows], kind) for field, kind in fields]
    table = pa.table(columns, schema=pa.schema(fields))
    make: Callable[[pa.Table, dict[str, Any]], Body] = parquet_body if form == "parquet" else arrow_body
    return make(table, {**content, "source": content.get("source", source)})


def arrow_type(schema: Schema) -> pa.DataType:
    """The type of a value with this schema, which may be null (or is never anything else); raises ValueError if it
    may be of several."""
    known = schema.get("enum", [schema["const"]] if "const" in schema else [])
    stated = schema.get("type", [OF_PYTHON[type(value)] for value in known if value is not None])
    kinds = {*([stated] if isinstance(stated, str) else stated)} - {"null"}
    if kinds == {"integer", "number"}:
        kinds = {"number"}
    if len(kinds) > 1:
        raise ValueError(f"no single type in {schema}")
    if not kinds:
        return pa.null()
    [kind] = kinds
    if kind == "array":
        return pa.list_(arrow_type(schema["items"]))
    if kind != "object":
        return SIMPLE[kind]
    if isinstance(values := schema.get("additionalProperties"), dict):
        return pa.map_(pa.string(), arrow_type(values))
    return pa.struct([(name, arrow_type(one)) for name, one in schema["properties"].items()])


def _for_arrow(value: Any, kind: pa.DataType) -> Any:
    """A JSON value as PyArrow takes it: a map is a list of pairs there."""
    if value is None:
        return None
    if pa.types.is_map(kind):
        return [(name, _for_arrow(one, kind.item_type)) for name, one in value.items()]
    if pa.types.is_list(kind):
        return [_for_arrow(one, kind.value_type) for one in value]
    if pa.types.is_struct(kind):
        return {field.name: _for_arrow(value.get(field.name), field.type) for field in kind}
    return value


def _csv(rows: list[dict[str, Any]], names: list[str], source: str) -> bytes:
    out = io.StringIO()
    out.write(f"# source: {source}\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_cell(row.get(name)) for name in names] for row in rows)
    return out.getvalue().encode()


def _cell(value: Any) -> Any:
    """Numbers as JSON writes them, null as nothing."""
    return "" if value is None else value if isinstance(value, str) else orjson.dumps(value).decode()
