"""The declaration of an MCP tool: its arguments, what its data looks like, and the envelope that every answer has.

Adding a tool is adding a `Tool` to a file of `serve/tools/` and to the tuple there. Like an endpoint's, its query is
made of the arguments and the edition, and its answer depends on (query, edition) alone; of the clock the envelope knows
one thing, whether the answer is still fresh.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np
import orjson

from serve.contract.errors import ApiError, argument_details, nearest, quote, suggestion
from serve.contract.parameters import Param, Values
from serve.contract.schemas import INTEGER, NUMBER_OR_NULL, TEXT, TEXT_OR_NULL, Schema, array_of, object_of
from serve.contract.serialize import OPTIONS
from serve.replica.catalog import Catalog
from serve.replica.edition import Edition, Reader
from serve.replica.units import UNIT_MS, Span

DIGITS = 6  # significant digits of a served number; prices have PRICE_DIGITS
PRICE_DIGITS = 8
MOST_GAPS = 20
LARGE_CHARS = 20_000
SLACK_MS = 15 * UNIT_MS["m"]
UTC_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?Z", re.ASCII)
MAX_SAFE = 2**53 - 1
SUMMED = ("first", "last", "min", "max", "mean", "change")
Gap = Mapping[str, Any]


@dataclass(frozen=True)
class Found:
    """What a tool found: the payload and what is to be said of it.

    span: the range that was asked for; known: the part of it of which something is known
    fresh_until_ms: the time from which the answer is stale; None for a completed window
    gaps: unrecorded periods in the range; those of `venue`, or of the recorder (None), leave nothing known
    source: the tables that were read; method: how the numbers are made
    rest: path of the same in the JSON API
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
    warnings: list[dict[str, Any]] = field(default_factory=list)
    rest: str | None = None


@dataclass(frozen=True)
class Tool:
    """One tool. `about` is told beside the description: what the metrics of the edition say of themselves."""

    name: str
    title: str
    description: str
    params: Mapping[str, Param]
    data: Schema
    resolve: Callable[[Values, Edition, bool], Any]
    answer: Callable[[Any, Reader], Found]
    about: Callable[[Catalog], str] = lambda _: ""

    def definition(self, catalog: Catalog) -> dict[str, Any]:
        """The tool as tools/list shows it."""
        properties = {name: _property(param, catalog) for name, param in self.params.items()}
        required = [name for name, param in self.params.items() if param.required]
        return {
            "name": self.name,
            "title": self.title,
            "description": " ".join(filter(None, [self.description, self.about(catalog)])),
            "inputSchema": {
                "type": "object",
                "properties": properties,
                **({"required": required} if required else {}),
                "additionalProperties": False,
            },
            "outputSchema": object_of(
                {**ENVELOPE, "data": {**self.data, "type": ["object", "null"]}}, optional=("reason", "retry_after_s")
            ),
            "annotations": {
                "title": self.title,
                "readOnlyHint": True,
                "destructiveHint": False,
                "idempotentHint": True,
                "openWorldHint": False,
            },
        }

    def read(self, given: Mapping[str, Any]) -> Values:
        """The values of a call's arguments; raises BadParameter for the first wrong one. null counts as not given."""
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
BOUNDS = object_of({"start": INTEGER, "end": INTEGER}, nullable=True)
# Said once to clients, in the instructions: here it would be read again with each tool.
ENVELOPE: Schema = {
    "status": {"enum": ["ok", "partial", "unavailable"]},
    "as_of": {**NULLABLE, "description": "Time of the newest data, UTC epoch ms."},
    "freshness": {
        "enum": ["fresh", "historical", "stale", None],
        "description": "historical: a completed window; stale: meant to be current, but too old.",
    },
    "provenance": object_of(
        {"edition": NULLABLE, "source": TEXT_OR_NULL, "method": TEXT, "caveats": array_of(TEXT)},
    ),
    "coverage": object_of(
        {
            "requested": BOUNDS,
            "available": BOUNDS,
            "gaps": array_of(object_of({"start": INTEGER, "end": INTEGER, "venue": TEXT_OR_NULL, "reason": TEXT})),
            "gaps_omitted": INTEGER,
        }
    ),
    "units": {"type": "object", "additionalProperties": TEXT},
    "warnings": array_of(object_of({"code": TEXT, "message": TEXT, "url": TEXT}, optional=("url",))),
    "data": {},
    "reason": TEXT,
    "retry_after_s": INTEGER,
}


def envelope(found: Found, edition: Edition, stale: bool, origin: str) -> bytes:
    """The answer as JSON; `origin` is where the JSON API is."""
    lost, away = _gaps_by_venue(found)
    warnings = list(found.warnings)
    if lost:
        message = f"Nothing was recorded in {_length(lost)} of the range (coverage.gaps): unknown, not zero."
        warnings.append({"code": "recording_gap", "message": message})
    if away:
        each = ", ".join(f"{venue} {_length(gaps)}" for venue, gaps in sorted(away.items()))
        message = f"Some venues were not recorded all the time, sums lack them there: {each}."
        warnings.append({"code": "venue_gap", "message": message})
    if stale:
        message = "The newest data is older than a step plus 15 minutes: do not take it for the present."
        warnings.append({"code": "stale", "message": message})
    gaps = _longest(lost, MOST_GAPS)
    gaps += _longest([gap for own in away.values() for gap in own], MOST_GAPS - len(gaps))
    content = {
        "status": "partial" if lost else "ok",
        "as_of": edition.as_of_ms,
        "freshness": "historical" if found.fresh_until_ms is None else "stale" if stale else "fresh",
        "provenance": {
            "edition": edition.edition_id,
            "source": found.source,
            "method": found.method,
            "caveats": list(found.caveats),
        },
        "coverage": {
            "requested": found.span._asdict(),
            "available": found.known and found.known._asdict(),
            "gaps": sorted(gaps, key=lambda gap: gap["start"]),
            "gaps_omitted": len(found.gaps) - len(gaps),
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
            },
            "coverage": {"requested": None, "available": None, "gaps": [], "gaps_omitted": 0},
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
    """A number with so many significant digits; anything else as it is."""
    return float(f"{value:.{digits}g}") if isinstance(value, float) and isfinite(value) else value


def summary(values: np.ndarray[Any, Any], *beside: str) -> dict[str, Any]:
    """What the known values come to; null where nothing is known. Beside it, where asked for: change_fraction (of the
    first value) and total."""
    known = values[np.isfinite(values)]
    if not known.size:
        return {"known": 0, **dict.fromkeys((*SUMMED, *beside))}
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
    return {"known": int(known.size), **{name: rounded(figures[name]) for name in (*SUMMED, *beside)}}


def summary_schema(*beside: str) -> Schema:
    """The schema of a summary."""
    return object_of({"known": INTEGER, **dict.fromkeys((*SUMMED, *beside), NUMBER_OR_NULL)})


def _property(param: Param, catalog: Catalog) -> Schema:
    examples = {"examples": [param.example]} if param.example else {}
    return {**param.schema_for(catalog), "description": param.description, **examples}


def _gaps_by_venue(found: Found) -> tuple[list[Gap], dict[str, list[Gap]]]:
    """The gaps that leave nothing known, and the others by venue."""
    lost: list[Gap] = []
    away: dict[str, list[Gap]] = {}
    for gap in found.gaps:
        (lost if gap["venue"] in (None, found.venue) else away.setdefault(gap["venue"], [])).append(gap)
    return lost, away


def _longest(gaps: list[Gap], most: int) -> list[Gap]:
    return sorted(gaps, key=lambda gap: gap["start"] - gap["end"])[:most]


def _length(gaps: Sequence[Gap]) -> str:
    minutes = sum(gap["end"] - gap["start"] for gap in gaps) / UNIT_MS["m"]
    return f"{minutes / 60:.3g} h" if minutes >= 120 else f"{minutes:.3g} min"
