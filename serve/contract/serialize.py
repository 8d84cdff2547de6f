"""Serialization: NumPy arrays to JSON by orjson, Arrow tables to Parquet and Arrow; no Python loop over points."""

import io
import json
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
import orjson
import pyarrow as pa

JSON = "application/json"
CSV = "text/csv; charset=utf-8"
PLAIN = "text/plain; charset=utf-8"
PARQUET = "application/vnd.apache.parquet"
ARROW = "application/vnd.apache.arrow.stream"
EVENTS = "text/event-stream"
COMPRESSED_TYPES = (PARQUET, "font/woff2")
OPTIONS = orjson.OPT_SERIALIZE_NUMPY


@dataclass(frozen=True)
class Body:
    """A serialized response body. `degraded`: made without readable data, so it is cached only if it has a `ttl`.

    `ttl`: seconds that clients may cache it, where that depends on the query; None: the endpoint's `ttl`.
    `vary`: headers of the request that choose this body, beside those that choose any.
    `link`: the value of the header Link, by which programs find what describes this body.
    """

    data: bytes
    content_type: str = JSON
    degraded: bool = False
    ttl: int | None = None
    vary: tuple[str, ...] = ()
    link: str = ""


@dataclass(frozen=True)
class FileBody(Body):
    """A body that is an open file. Its content never changes under its `etag`."""

    file: BinaryIO = field(kw_only=True)
    etag: str = field(kw_only=True)


def json_body(
    content: dict[str, Any],
    degraded: bool = False,
    ttl: int | None = None,
    vary: tuple[str, ...] = (),
    link: str = "",
) -> Body:
    """A JSON body; NaN and infinities become null."""
    return Body(orjson.dumps(content, option=OPTIONS), JSON, degraded, ttl, vary, link)


def significant(values: np.ndarray[Any, Any], digits: int) -> np.ndarray[Any, Any]:
    """Numbers rounded to significant digits; 0 and NaN stay. Scaled only by whole powers of ten, which are exact, so
    that the result is the double nearest to the rounded decimal."""
    size = np.where(np.isfinite(values) & (values != 0), np.abs(values), 1.0)
    places = np.clip(digits - 1 - np.floor(np.log10(size)), -300, 300)
    up, down = 10.0 ** np.maximum(places, 0), 10.0 ** np.maximum(-places, 0)
    rounded: np.ndarray[Any, Any] = np.round(values * up / down) / up * down
    return rounded


def strict_json(text: bytes) -> bytes:
    """DuckDB's JSON as strict JSON: DuckDB writes NaN and infinities, which become null."""
    if b"NaN" in text or b"Infinity" in text:
        return orjson.dumps(json.loads(text))
    return text


def parquet_body(table: pa.Table, metadata: dict[str, Any]) -> Body:
    """A Parquet file; `metadata` is in the file's metadata, as JSON under `tidemark`."""
    # Imported at the first use: it takes a tenth of a second, and most responses are JSON.
    from pyarrow import parquet

    out = io.BytesIO()
    parquet.write_table(_with_metadata(table, metadata), out, compression="zstd")
    return Body(out.getvalue(), PARQUET)


def arrow_body(table: pa.Table, metadata: dict[str, Any]) -> Body:
    """An Arrow IPC stream; `metadata` is in the schema's metadata, as JSON under `tidemark`."""
    out = io.BytesIO()
    table = _with_metadata(table, metadata)
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return Body(out.getvalue(), ARROW)


def _with_metadata(table: pa.Table, metadata: dict[str, Any]) -> pa.Table:
    return table.replace_schema_metadata({"tidemark": orjson.dumps(metadata)})
