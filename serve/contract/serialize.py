"""Columns to bytes: JSON by orjson straight from NumPy arrays, tables by Arrow; never a Python loop over points."""

import io
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

JSON = "application/json"
CSV = "text/csv; charset=utf-8"
PARQUET = "application/vnd.apache.parquet"
ARROW = "application/vnd.apache.arrow.stream"
PACKED_ALREADY = (PARQUET,)
OPTIONS = orjson.OPT_SERIALIZE_NUMPY


@dataclass(frozen=True)
class Body:
    """A finished answer. `degraded`: made without readable data, so nobody may keep it, or only for its own `ttl`.

    `ttl` seconds it may be kept, where that depends on the question; None: as long as its endpoint says.
    """

    data: bytes
    content_type: str = JSON
    degraded: bool = False
    ttl: int | None = None


def json_body(content: dict[str, Any], degraded: bool = False, ttl: int | None = None) -> Body:
    """A JSON body; NaN and infinities become null."""
    return Body(orjson.dumps(content, option=OPTIONS), JSON, degraded, ttl)


def significant(values: np.ndarray[Any, Any], digits: int) -> np.ndarray[Any, Any]:
    """Numbers rounded to so many significant digits; 0 and NaN stay. Powers of ten that are whole numbers are exact, so
    the result is the double nearest to the rounded decimal."""
    size = np.where(np.isfinite(values) & (values != 0), np.abs(values), 1.0)
    places = np.clip(digits - 1 - np.floor(np.log10(size)), -300, 300)
    up, down = 10.0 ** np.maximum(places, 0), 10.0 ** np.maximum(-places, 0)
    rounded: np.ndarray[Any, Any] = np.round(values * up / down) / up * down
    return rounded


def strict_json(text: bytes) -> bytes:
    """JSON as DuckDB writes it, made strict: it spells a NaN or an infinity of a double out, JSON knows neither."""
    if b"NaN" in text or b"Infinity" in text:
        return orjson.dumps(json.loads(text))
    return text


def parquet_body(table: pa.Table, about: dict[str, Any]) -> Body:
    """A Parquet file; `about` is JSON in its metadata under `tidemark`."""
    # Imported at its first use: it takes a tenth of a second, and most requests ask for JSON.
    from pyarrow import parquet

    out = io.BytesIO()
    parquet.write_table(_about(table, about), out, compression="zstd")
    return Body(out.getvalue(), PARQUET)


def arrow_body(table: pa.Table, about: dict[str, Any]) -> Body:
    """An Arrow IPC stream; `about` is JSON in the schema's metadata under `tidemark`."""
    out = io.BytesIO()
    table = _about(table, about)
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return Body(out.getvalue(), ARROW)


def _about(table: pa.Table, about: dict[str, Any]) -> pa.Table:
    return table.replace_schema_metadata({"tidemark": orjson.dumps(about)})
