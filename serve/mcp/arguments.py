"""Arguments of tools: parameters of the JSON API as JSON values, and those that only tools have.

Here `Param.read` takes a JSON value instead of text; an invalid one raises BadParameter.
"""

import re
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from serve.contract import parameters
from serve.contract.errors import BadParameter
from serve.contract.parameters import MAX_SAFE_INTEGER, Param, Values
from serve.contract.schemas import Schema
from serve.replica.edition import Edition

UTC_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?Z", re.ASCII)


def string(param: Param, required: bool = False) -> Param:
    """A parameter of the JSON API as an argument, which must be a JSON string."""

    def read(name: str, value: Any) -> Any:
        if not isinstance(value, str) or not value:
            raise BadParameter(name, value, f"use a string: {param.description}")
        return param.read(name, value)

    schema = param.schema if callable(param.schema) else _shown(param.schema)
    return replace(param, read=read, schema=schema, required=required)


def market(description: str, required: bool = False) -> Param:
    """A market of the JSON API as an argument. An error names the venues: here they would be listed twice."""
    schema = {"type": "string", "pattern": r"^[a-z]+:(perp|spot):\S+$", "examples": ["binance:perp:BTCUSDT"]}
    return replace(string(parameters.market(description), required), schema=schema)


def metric_argument(description: str, required: bool = False) -> Param:
    """A metric of the edition; aliases are read too."""
    param = parameters.metric(lambda catalog: [one.name for one in catalog.metrics])
    return replace(string(param, required), description=description)


def whole_number(description: str, low: int, high: int, default: int) -> Param:
    """A whole number within bounds."""

    def read(name: str, value: Any) -> int:
        if not _is_number(value):
            raise BadParameter(name, value, f"use a whole number from {low} to {high}")
        if value != value // 1 or not low <= value <= high:
            near = int(min(max(value, low), high))
            raise BadParameter(name, value, f"use a whole number from {low} to {high}", near=near)
        return int(value)

    return Param(description, read, {"type": "integer", "minimum": low, "maximum": high}, default)


def number_from(description: str, low: float, default: float | None = None) -> Param:
    """A number of at least `low`."""

    def read(name: str, value: Any) -> float:
        if not _is_number(value) or not low <= value < 1e18:
            raise BadParameter(name, value, f"use a number from {low:g} up")
        return float(value)

    return Param(description, read, {"type": "number", "minimum": low}, default)


def one_number(description: str, *choices: float, default: float) -> Param:
    """One of a few numbers."""
    allowed = f"use one of {', '.join(f'{choice:g}' for choice in choices)}"

    def read(name: str, value: Any) -> float:
        if not _is_number(value):
            raise BadParameter(name, value, allowed)
        if value not in choices:
            raise BadParameter(name, value, allowed, near=min(choices, key=lambda choice: abs(choice - value)))
        return float(value)

    return Param(description, read, {"type": "number", "enum": list(choices)}, default)


def utc_time(description: str, required: bool = False) -> Param:
    """A time as ISO 8601 in UTC, such as 2026-06-15T12:00:00Z, not in the future; in milliseconds."""
    allowed = "use UTC as ISO 8601 that ends in Z, such as 2026-06-15T12:00:00Z"

    def read(name: str, value: Any) -> int:
        if not isinstance(value, str) or not UTC_TIME.fullmatch(value):
            raise BadParameter(name, value, allowed)
        try:
            ms = int(datetime.fromisoformat(value).timestamp() * 1000)
        except ValueError:
            raise BadParameter(name, value, allowed) from None
        now = int(time.time() * 1000)
        if not 0 <= ms <= now:
            raise BadParameter(name, value, f"it must be from 1970 on and never in the future; now is {iso(now)}")
        return ms

    return Param(description, read, {"type": "string", "format": "date-time"}, required=required)


def window(description: str, example: str) -> dict[str, Param]:
    """The arguments of a time range: its length up to now, or its start with its end or its length."""
    return {
        "range": string(parameters.duration(description, example)),
        "start": utc_time("UTC, such as 2026-06-15T12:00:00Z; with end or range."),
        "end": utc_time("UTC, exclusive, not in the future; now without it."),
    }


def ids(description: str, most: int) -> Param:
    """A list of ids without repetitions."""
    allowed = f"use a list of 1 to {most} whole numbers from 0 to 2^53 - 1"

    def read(name: str, value: Any) -> tuple[int, ...]:
        if not isinstance(value, list) or not 1 <= len(value) <= most:
            raise BadParameter(name, value, allowed)
        for one in value:
            if isinstance(one, bool) or not isinstance(one, int) or not 0 <= one <= MAX_SAFE_INTEGER:
                raise BadParameter(name, one, allowed)
        return tuple(dict.fromkeys(value))

    items = {"type": "integer", "minimum": 0, "maximum": MAX_SAFE_INTEGER}
    return Param(description, read, {"type": "array", "items": items, "minItems": 1, "maxItems": most}, required=True)


def check_order(values: Values) -> None:
    """Raises BadParameter if end is not after start."""
    start, end = values["start"], values["end"]
    if start is not None and end is not None and end <= start:
        raise BadParameter("end", iso(end), f"it must be after start ({iso(start)})")


def find_coin(name: str, asked: str, edition: Edition) -> str:
    """The canonical coin; raises BadParameter if it is not tracked."""
    base = edition.base(asked)
    if base is None:
        raise BadParameter(name, asked, "unknown coin: use one that is tracked", edition.bases.values())
    return base


def find_market(name: str, asked: str, edition: Edition) -> str:
    """A market of the edition; raises BadParameter for any other."""
    if asked not in edition.markets:
        like = [known for known in edition.markets if known.startswith(asked[: asked.rfind(":") + 1])]
        raise BadParameter(name, asked, "unknown market: market_snapshot lists a coin's markets", like)
    return asked


def iso(ms: int) -> str:
    """A time as ISO 8601 in UTC."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _shown(schema: Schema) -> Schema:
    """The schema without the limits that no reader would exceed by chance."""
    return {name: value for name, value in schema.items() if name not in ("minLength", "maxLength")}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
