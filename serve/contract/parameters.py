"""Parameters of endpoints: how each kind is parsed, what it allows, and its JSON Schema."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import parse_qsl, unquote_plus

from serve.contract.errors import ApiError, BadParameter, nearest, quote, suggestion
from serve.contract.schemas import Schema
from serve.replica.catalog import VENUES, Catalog
from serve.replica.units import UNIT_MS

Values = dict[str, Any]

DURATION = re.compile(r"([1-9][0-9]{0,6})([mhdwy])", re.ASCII)
EPOCH_MS = re.compile(r"[0-9]{1,15}", re.ASCII)
WHOLE = re.compile(r"[0-9]{1,16}", re.ASCII)
MAX_SAFE_INTEGER = 2**53 - 1  # The greatest whole number that JSON's readers keep exactly.
LAST_MS = 4_102_444_800_000  # 2100-01-01: a later time has the wrong unit
MAX_FIELDS = 40
MAX_WORD, MAX_NAME = 64, 200
DAY, EPOCH = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII), date(1970, 1, 1)
KEY_PARAMETER = "api_key"


@dataclass(frozen=True)
class Param:
    """One parameter. `read(name, text)` returns its value or raises BadParameter."""

    description: str
    read: Callable[[str, str], Any]
    schema: Schema | Callable[[Catalog], Schema]
    default: Any = None
    required: bool = False
    example: str | None = None

    def schema_for(self, catalog: Catalog) -> Schema:
        """The JSON Schema of the parameter in this edition."""
        schema = self.schema(catalog) if callable(self.schema) else self.schema
        return schema if self.default is None else {**schema, "default": self.default}


def one_of(description: str, *choices: str, default: str | None = None) -> Param:
    """One of fixed words."""

    def read(name: str, text: str) -> str:
        if text not in choices:
            raise BadParameter(name, text, "use one of " + ", ".join(choices), choices)
        return text

    return Param(description, read, {"type": "string", "enum": list(choices)}, default)


class Duration(int):
    """A duration in milliseconds, with the text that it was parsed from."""

    text: str


def duration(description: str, example: str) -> Param:
    """A duration such as 6h, 30d, 12w or 1y, in milliseconds."""

    def read(name: str, text: str) -> Duration:
        match = DURATION.fullmatch(text)
        if not match:
            raise BadParameter(name, text, "use a whole number above 0 and a unit of m, h, d, w, y, such as 6h or 30d")
        found = Duration(int(match[1]) * UNIT_MS[match[2]])
        found.text = text
        return found

    return Param(description, read, {"type": "string", "pattern": f"^{DURATION.pattern}$"}, example=example)


def window(description: str, example: str) -> dict[str, Param]:
    """The parameters of a time range: its length up to now, or its start with its end or its length."""
    return {
        "range": duration(description, example),
        "start": epoch_ms("Start, UTC epoch ms; needs end or range beside it."),
        "end": epoch_ms("End (exclusive), UTC epoch ms; that of the newest data without it."),
    }


def epoch_ms(description: str, required: bool = False) -> Param:
    """A time in UTC epoch milliseconds."""

    def read(name: str, text: str) -> int:
        if not EPOCH_MS.fullmatch(text) or int(text) > LAST_MS:
            raise BadParameter(name, text, f"use UTC epoch milliseconds, a whole number from 0 to {LAST_MS}")
        return int(text)

    return Param(description, read, {"type": "integer", "minimum": 0, "maximum": LAST_MS}, required=required)


def utc_day(description: str) -> Param:
    """A UTC day as YYYY-MM-DD; its start in epoch milliseconds."""

    def read(name: str, text: str) -> int:
        try:
            if not DAY.fullmatch(text):
                raise ValueError
            return (date.fromisoformat(text) - EPOCH).days * UNIT_MS["d"]
        except ValueError:
            raise BadParameter(name, text, "use a UTC day as YYYY-MM-DD, such as 2026-11-17") from None

    return Param(description, read, {"type": "string", "format": "date"}, example="2026-11-17")


def word(description: str, example: str | None = None) -> Param:
    """A name without spaces, whatever there is of that name."""

    def read(name: str, text: str) -> str:
        if len(text) > MAX_NAME or not text.isprintable():
            raise BadParameter(name, text, f"use at most {MAX_NAME} printable characters")
        return text

    return Param(description, read, {"type": "string", "minLength": 1, "maxLength": MAX_NAME}, example=example)


def number_of(description: str, what: str, example: int) -> Param:
    """The number of something, which need not exist."""

    def read(name: str, text: str) -> int:
        if not WHOLE.fullmatch(text) or int(text) > MAX_SAFE_INTEGER:
            raise BadParameter(name, text, f"use the number of {what}, such as {example}")
        return int(text)

    return Param(
        description, read, {"type": "integer", "minimum": 0, "maximum": MAX_SAFE_INTEGER}, example=str(example)
    )


def metric(served: Callable[[Catalog], Iterable[str]] = lambda catalog: catalog.names) -> Param:
    """A metric's canonical name or alias, of those in the edition's catalog that are served."""
    words = _word("use one of the metric names")
    return Param(
        "Metric: a canonical name or an alias.",
        words,
        lambda catalog: word_of(served(catalog)),
        required=True,
    )


def kind(description: str) -> Param:
    """A kind of a metric; which metrics have which is in the edition's catalog."""
    return Param(description, _word("use a kind of the metric"), lambda catalog: word_of(catalog.kinds))


def step(
    description: str,
    *others: str,
    default: str | None = None,
    served: Callable[[Catalog], Iterable[str]] = lambda catalog: catalog.steps,
) -> Param:
    """A bucket width, of those in the edition that are served, or one of the other words."""

    def schema(catalog: Catalog) -> Schema:
        return word_of((*served(catalog), *others) if catalog.steps else ())

    return Param(description, _word("use a step"), schema, default)


def word_of(names: Iterable[str]) -> Schema:
    """The schema of one of these words; of any before the first edition, which brings them."""
    listed = list(names)
    return {"type": "string", "enum": listed} if listed else {"type": "string"}


def coin(description: str) -> Param:
    """A coin symbol; whether it is tracked depends on the edition."""
    check = _word("use a coin symbol such as BTC")

    def read(name: str, text: str) -> str:
        if text.startswith(tuple(f"{known}:" for known in VENUES)):
            raise BadParameter(name, text, "use a coin symbol such as BTC; a venue's contract goes into market")
        return check(name, text)

    return Param(description, read, {"type": "string", "minLength": 1, "maxLength": MAX_WORD}, example="BTC")


def coins(description: str, least: int, most: int, max_chars: int = 256) -> Param:
    """Distinct coin symbols, comma-separated; repetitions in any case count once."""
    read = _several(coin(""), f"use {least} to {most} distinct coin symbols", "BTC,ETH", (least, most), max_chars)
    schema = {"type": "string", "minLength": 1, "maxLength": max_chars}
    return Param(description, read, schema, required=True, example="BTC,ETH")


def metrics(description: str, most: int, example: str) -> Param:
    """Distinct names or aliases of metrics, comma-separated."""
    read = _several(metric(), f"use 1 to {most} distinct names of metrics", example, (1, most), 256)

    def schema(catalog: Catalog) -> Schema:
        one = f"({'|'.join(catalog.names)})"
        listed = {"pattern": f"^{one}(,{one}){{0,{most - 1}}}$"} if catalog.names else {}
        return {"type": "string", "minLength": 1, "maxLength": 256, **listed}

    return Param(description, read, schema, required=True, example=example)


def words(description: str, example: str) -> Param:
    """A short text of words."""
    allowed = f"use 1 to {MAX_WORD} printable characters"

    def read(name: str, text: str) -> str:
        if len(text) > MAX_WORD or not text.isprintable() or not text.strip():
            raise BadParameter(name, text, allowed)
        return text

    schema = {"type": "string", "minLength": 1, "maxLength": MAX_WORD}
    return Param(description, read, schema, required=True, example=example)


def _several(
    one: Param, wanted: str, example: str, counts: tuple[int, int], max_chars: int
) -> Callable[[str, str], tuple[str, ...]]:
    allowed = f"{wanted}, comma-separated, such as {example}"

    def read(name: str, text: str) -> tuple[str, ...]:
        if len(text) > max_chars:
            raise BadParameter(name, text, f"{allowed}, in at most {max_chars} characters")
        parts = text.split(",")
        found = {part.upper(): one.read(name, part) for part in parts if part}
        if "" in parts or not counts[0] <= len(found) <= counts[1]:
            raise BadParameter(name, text, allowed)
        return tuple(found.values())

    return read


def market(description: str) -> Param:
    """A market as venue:perp|spot:SYMBOL; whether it exists depends on the edition."""
    allowed = f"use venue:perp|spot:SYMBOL with a venue of {', '.join(VENUES)}"
    check = _word(allowed)

    def read(name: str, text: str) -> str:
        venue, _, rest = check(name, text).partition(":")
        kind, _, symbol = rest.partition(":")
        if venue not in VENUES or kind not in ("perp", "spot") or not symbol:
            near = (nearest(venue, VENUES), nearest(kind, ("perp", "spot")), symbol)
            raise BadParameter(name, text, allowed, near=":".join(map(str, near)) if all(near) else None)
        return text

    pattern = f"^({'|'.join(VENUES)}):(perp|spot):\\S+$"
    # In the schema, because Swagger UI fills a parameter's own example in: market is an alternative to base.
    schema = {"type": "string", "pattern": pattern, "examples": ["binance:perp:BTCUSDT"]}
    return Param(description, read, schema)


def venue(description: str) -> Param:
    """One of the exchanges."""
    return one_of(description, *VENUES)


def _word(allowed: str) -> Callable[[str, str], str]:
    def read(name: str, text: str) -> str:
        if len(text) > MAX_WORD or not text.isprintable() or any(map(str.isspace, text)):
            raise BadParameter(name, text, allowed)
        return text

    return read


def read_values(params: Mapping[str, Param], path_values: Mapping[str, str], query_string: str) -> Values:
    """The values of a request by parameter; unknown, repeated, empty and malformed ones raise a 400."""
    given: dict[str, str] = {}
    queryable = [name for name in params if name not in path_values]
    for name, text in _pairs(query_string):
        if name not in queryable:
            hint = _allowed(queryable) + suggestion(name, [*queryable, KEY_PARAMETER])
            raise ApiError(400, f"{quote(name)} is not a parameter here; {hint}")
        if name in given:
            raise BadParameter(name, text, "give it once")
        given[name] = text
    given.update(path_values)
    values: Values = {}
    for name, param in params.items():
        if name not in given:
            if param.required:
                raise ApiError(400, f"{name}: a value is required")
            values[name] = param.default
        elif not given[name]:
            raise BadParameter(name, "", "leave the parameter out or give it a value")
        else:
            values[name] = param.read(name, given[name])
    return values


def without_key(query_string: str) -> tuple[list[str], str]:
    """The values of api_key in a query string, and the string without them, which is part of the cache key."""
    parts = query_string.split("&")
    split = [(part, *map(unquote_plus, part.partition("=")[::2])) for part in parts]
    given = [value for _, name, value in split if name == KEY_PARAMETER]
    return (given, "&".join(part for part, name, _ in split if name != KEY_PARAMETER)) if given else ([], query_string)


def _pairs(query_string: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query_string, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise ApiError(400, f"more than {MAX_FIELDS} query parameters") from None


def _allowed(names: Iterable[str]) -> str:
    listed = ", ".join(names)
    return f"allowed: {listed}" if listed else "this endpoint takes none"
