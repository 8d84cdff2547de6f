"""The declaration of an MCP tool: its arguments, the schema of its data, and the envelope of every result.

Adding a tool is adding a `Tool` to a file of `serve/mcp/tools/` and to the tuple `TOOLS` there. As with an endpoint,
the query is derived from the arguments and the edition, and the result depends on (query, edition) alone; only its
freshness depends on the clock.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np
import orjson

from serve.contract.errors import ApiError, argument_details, nearest, quote, suggestion
from serve.contract.parameters import Param, Values
from serve.contract.schemas import INTEGER, NUMBER_OR_NULL, TEXT, TEXT_OR_NULL, Schema, array_of, object_of
from serve.contract.serialize import OPTIONS
from serve.mcp.statements import Statements
from serve.replica.catalog import Catalog
from serve.replica.edition import Edition, Reader
from serve.replica.units import UNIT_MS, Span

DIGITS = 6  # significant digits of a served number; prices have PRICE_DIGITS
PRICE_DIGITS = 8
PRICES = ("price", "spot", "forward", "strike", "max_pain")
MAX_GAPS = 20
LARGE_CHARS = 20_000
SLACK_MS = 15 * UNIT_MS["m"]
SUMMED = ("first", "last", "min", "max", "mean", "change")
Gap = Mapping[str, Any]


@dataclass(frozen=True)
class ToolResult:
    """The data of a tool call, and the values of its envelope.

    span: the requested range; known: the part of it that has data
    fresh_until_ms: the time from which the result is stale; None for a completed window
    gaps: unrecorded periods in the range; in those of `venue` or of the recorder (None) nothing is known
    markets: how many markets are in the buckets, and how many were expected (MARKETS); None where that has no meaning
    source: the tables that were read; method: how the numbers are computed
    rest: path of the same data in the JSON API
    page: path of the page that shows them to people
    """

    data: dict[str, Any]
    units: Mapping[str, str]
    span: Span
    known: Span | None
    fresh_until_ms: int | None
    source: str
    method: str
    caveats: Sequence[str] = ()
    gaps: Sequence[Gap] = ()
    venue: str | None = None
    markets: Mapping[str, int] | None = None
    warnings: list[dict[str, Any]] = field(default_factory=list)
    rest: str | None = None
    page: str | None = None


@dataclass(frozen=True)
class Tool:
    """One tool. `notes` are appended to the description: definitions of the edition's metrics. A tool that runs the
    caller's own statements is there only where the operator's setting allows them: `run` answers a query aside, in a
    process of its own, or returns None for one that `answer` answers."""

    name: str
    title: str
    description: str
    params: Mapping[str, Param]
    data: Schema
    resolve: Callable[[Values, Edition, bool], Any]
    answer: Callable[[Any, Reader], ToolResult]
    notes: Callable[[Catalog], str] = lambda _: ""
    run: Callable[[Any, Edition, Statements], Coroutine[Any, Any, ToolResult] | None] | None = None

    @property
    def schema(self) -> Schema:
        """The schema that every result satisfies."""
        data = {**self.data, "type": ["object", "null"]}
        return object_of({**ENVELOPE, "data": data}, optional=("reason", "retry_after_s"))

    def definition(self, catalog: Catalog) -> dict[str, Any]:
        """The tool as in tools/list."""
        properties = {name: _property(param, catalog) for name, param in self.params.items()}
        required = [name for name, param in self.params.items() if param.required]
        return {
            "name": self.name,
            "title": self.title,
            "description": " ".join(filter(None, [self.description, self.notes(catalog)])),
            "inputSchema": {
                "type": "object",
                "properties": properties,
                **({"required": required} if required else {}),
                "additionalProperties": False,
            },
            "outputSchema": self._outline(),
            "annotations": {
                "readOnlyHint": True,
                "destructiveHint": False,
                "idempotentHint": True,
                "openWorldHint": False,
            },
        }

    def _outline(self) -> Schema:
        """The schema as the definition publishes it: without what is in the envelope's parts, which the server's
        instructions explain once for all tools."""
        full = self.schema
        parts = {name: {key: part[key] for key in part if key not in INNER} for name, part in ENVELOPE.items()}
        return outline({**full, "properties": {**parts, "data": full["properties"]["data"]}})

    def read(self, given: Mapping[str, Any]) -> Values:
        """The values of a call's arguments; raises BadParameter for the first invalid one. null counts as not given."""
        names = list(self.params)
        for name, value in given.items():
            if name not in self.params:
                allowed = f"{self.name} takes {', '.join(names)}"
                message = f"{quote(name)} is not an argument; {allowed}{suggestion(name, names)}"
                raise ApiError(400, message, details=argument_details(name, value, allowed, nearest(name, names)))
        values: Values = {}
        for name, param in self.params.items():
            value = given.get(name)
            if value is None and param.required:
                message = f"{name}: a value is required: {param.description}"
                raise ApiError(400, message, details=argument_details(name, None, param.description))
            values[name] = param.default if value is None else param.read(name, value)
        return values


NULLABLE: Schema = {"type": ["integer", "null"]}
MARKETS = object_of({"n": INTEGER, "expected": INTEGER, "buckets": INTEGER, "incomplete": INTEGER}, nullable=True)
BOUNDS = object_of({"start": INTEGER, "end": INTEGER}, nullable=True)
# Without descriptions, because it is part of every tool: the server's instructions explain it once.
INNER = ("properties", "required", "items", "additionalProperties")
ENVELOPE: Schema = {
    "status": {"enum": ["ok", "partial", "unavailable"]},
    "as_of": NULLABLE,
    "freshness": {"enum": ["fresh", "historical", None]},
    "provenance": object_of(
        {"edition": NULLABLE, "source": TEXT_OR_NULL, "method": TEXT, "caveats": array_of(TEXT), "page": TEXT_OR_NULL},
    ),
    "coverage": object_of(
        {
            "requested": BOUNDS,
            "available": BOUNDS,
            "gaps": array_of(object_of({"start": INTEGER, "end": INTEGER, "venue": TEXT_OR_NULL, "reason": TEXT})),
            "gaps_omitted": INTEGER,
            "markets": MARKETS,
        }
    ),
    "units": {"type": "object", "additionalProperties": TEXT},
    "warnings": array_of(object_of({"code": TEXT, "message": TEXT, "url": TEXT}, optional=("url",))),
    "data": {},
    "reason": TEXT,
    "retry_after_s": INTEGER,
}


def envelope(found: ToolResult, edition: Edition, stale: bool, origin: str) -> bytes:
    """The result as JSON; `origin` is that of the JSON API and the pages."""
    unknown, missing_venues = _gaps_by_venue(found)
    warnings = list(found.warnings)
    if unknown:
        message = f"Nothing was recorded in {_length(unknown)} of the range (coverage.gaps): unknown, not zero."
        warnings.append({"code": "recording_gap", "message": message})
    if missing_venues:
        each = ", ".join(f"{venue} {_length(gaps)}" for venue, gaps in sorted(missing_venues.items()))
        message = f"Some venues were not recorded all the time, or not all their markets; sums lack them there: {each}."
        warnings.append({"code": "venue_gap", "message": message})
    if stale:
        message = "The newest data is older than a step plus 15 minutes: do not treat it as current."
        warnings.append({"code": "stale", "message": message})
    gaps = _longest(unknown, MAX_GAPS)
    gaps += _longest([gap for own in missing_venues.values() for gap in own], MAX_GAPS - len(gaps))
    content = {
        "status": "partial" if unknown or found.venue in missing_venues else "ok",
        "as_of": edition.as_of_ms,
        "freshness": "historical" if stale or found.fresh_until_ms is None else "fresh",
        "provenance": {
            "edition": edition.edition_id,
            "source": found.source,
            "method": found.method,
            "caveats": list(found.caveats),
            "page": found.page and origin + found.page,
        },
        "coverage": {
            "requested": found.span._asdict(),
            "available": found.known and found.known._asdict(),
            "gaps": sorted(gaps, key=lambda gap: gap["start"]),
            "gaps_omitted": len(found.gaps) - len(gaps),
            "markets": found.markets and dict(found.markets),
        },
        "units": dict(found.units),
        "warnings": warnings,
        "data": found.data,
    }
    text = orjson.dumps(content, option=OPTIONS)
    if len(text) > LARGE_CHARS and found.rest:
        message = "This answer is large. Ask for a shorter range or a coarser step, or read the JSON API at url."
        warnings.append({"code": "large_answer", "message": message, "url": origin + found.rest})
        text = orjson.dumps(content, option=OPTIONS)
    return text


def unavailable(edition: Edition | None, reason: str, retry_after_s: int) -> bytes:
    """The answer while the data cannot be read: never an empty success."""
    return orjson.dumps(
        {
            "status": "unavailable",
            "as_of": edition.as_of_ms if edition else None,
            "freshness": None,
            "provenance": {
                "edition": edition.edition_id if edition else None,
                "source": None,
                "method": "",
                "caveats": [],
                "page": None,
            },
            "coverage": {"requested": None, "available": None, "gaps": [], "gaps_omitted": 0, "markets": None},
            "units": {},
            "warnings": [],
            "data": None,
            "reason": reason,
            "retry_after_s": retry_after_s,
        }
    )


def fresh_until(newest_ms: int | None, step_ms: int, span: Span, edition: Edition) -> int | None:
    """When an answer becomes stale whose newest bucket starts at `newest_ms`; None for a window that was complete.

    A window is current if it ends at most a step and 15 minutes before the newest data. Without a bucket it is stale.
    """
    current = span.end > edition.as_of_ms - step_ms - SLACK_MS
    return (newest_ms or 0) + step_ms + SLACK_MS if current else None


def rounded(value: Any, digits: int = DIGITS) -> Any:
    """A number rounded to significant digits, in objects and lists each number; anything else unchanged."""
    if isinstance(value, dict):
        return {name: rounded(one, PRICE_DIGITS if name in PRICES else digits) for name, one in value.items()}
    if isinstance(value, list):
        return [rounded(one, digits) for one in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float) and isfinite(value) else value


def summary(values: np.ndarray[Any, Any], *extra: str) -> dict[str, Any]:
    """Figures of the known values, null without any; on request change_fraction (of the first value) and total."""
    known = values[np.isfinite(values)]
    if not known.size:
        return {"known": 0, **dict.fromkeys((*SUMMED, *extra))}
    first, last = float(known[0]), float(known[-1])
    figures = {
        "first": first,
        "last": last,
        "min": float(known.min()),
        "max": float(known.max()),
        "mean": float(known.mean()),
        "change": last - first,
        "change_fraction": last / first - 1 if first > 0 else None,
        "total": float(known.sum()),
    }
    return {"known": int(known.size), **{name: rounded(figures[name]) for name in (*SUMMED, *extra)}}


def summary_schema(*extra: str) -> Schema:
    """The schema of a summary; its figures are all alike, and are part of every definition that a model reads."""
    return {
        **object_of({"known": INTEGER}),
        "required": ["known", *SUMMED, *extra],
        "additionalProperties": NUMBER_OR_NULL,
    }


def outline(schema: Schema) -> Schema:
    """What a definition publishes of a schema: every name once, and what is said of it. A model reads the definitions
    of all tools before it asks, and learns little from types: a property that a result always has and of which no more
    than a type is said is only named."""
    kept = {name: value for name, value in schema.items() if name not in ("properties", "items") and value != []}
    if _is_plain(kept.get("additionalProperties", {})):
        kept.pop("additionalProperties", None)
    if "items" in schema and not _is_plain(schema["items"]):
        kept["items"] = outline(schema["items"])
    if "properties" in schema:
        required = schema.get("required", ())
        shown = {
            name: outline(one)
            for name, one in schema["properties"].items()
            if not (name in required and _is_plain(one))
        }
        kept |= {"properties": shown} if shown else {}
    return kept


def _is_plain(schema: Schema) -> bool:
    """Whether a schema says no more than a type."""
    return schema.keys() <= {"type", "items"} and ("items" not in schema or _is_plain(schema["items"]))


def _property(param: Param, catalog: Catalog) -> Schema:
    examples = {"examples": [param.example]} if param.example else {}
    return {**param.schema_for(catalog), "description": param.description, **examples}


def _gaps_by_venue(found: ToolResult) -> tuple[list[Gap], dict[str, list[Gap]]]:
    """The gaps in which nothing is known, and the others by venue: of a venue among several, or of a part of one."""
    unknown: list[Gap] = []
    missing_venues: dict[str, list[Gap]] = {}
    for gap in found.gaps:
        nothing = gap["venue"] is None or (gap["venue"] == found.venue and gap["reason"] != "partial")
        (unknown if nothing else missing_venues.setdefault(gap["venue"], [])).append(gap)
    return unknown, missing_venues


def _longest(gaps: list[Gap], most: int) -> list[Gap]:
    return sorted(gaps, key=lambda gap: gap["start"] - gap["end"])[:most]


def _length(gaps: Sequence[Gap]) -> str:
    minutes = sum(gap["end"] - gap["start"] for gap in gaps) / UNIT_MS["m"]
    return f"{minutes / 60:.3g} h" if minutes >= 120 else f"{minutes:.3g} min"
