"""Columns to bytes: JSON by orjson straight from NumPy arrays, never a Python loop over points."""

import json
from dataclasses import dataclass
from typing import Any

import orjson

JSON = "application/json"
CSV = "text/csv; charset=utf-8"
OPTIONS = orjson.OPT_SERIALIZE_NUMPY


@dataclass(frozen=True)
class Body:
    """A finished answer. `degraded`: made without readable data, so nobody may keep it."""

    data: bytes
    content_type: str = JSON
    degraded: bool = False


def json_body(content: dict[str, Any], degraded: bool = False) -> Body:
    """A JSON body; NaN and infinities become null."""
    return Body(orjson.dumps(content, option=OPTIONS), JSON, degraded)


def strict_json(text: bytes) -> bytes:
    """JSON as DuckDB writes it, made strict: it spells a NaN or an infinity of a double out, JSON knows neither."""
    if b"NaN" in text or b"Infinity" in text:
        return orjson.dumps(json.loads(text))
    return text
