"""explain_number: which markets, minutes and raw responses one number of a history came from."""

from typing import Any
from urllib.parse import urlencode

import orjson

from serve.contract.parameters import Values, coin, kind, one_of, step, venue
from serve.contract.schemas import (
    INTEGER,
    INTEGER_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    Schema,
    array_of,
    object_of,
)
from serve.mcp.arguments import find_coin, find_market, market, metric_argument, string, utc_time
from serve.mcp.tool import Tool, ToolResult, fresh_until, rounded
from serve.queries.figures.explain import Asked, read_explanation, resolve_explain
from serve.queries.series_query import AUTO
from serve.replica.edition import Edition, Reader
from serve.replica.units import Span

MOST_MARKETS, MOST_PARTS, MOST_RESPONSES, MOST_ROWS = 20, 60, 3, 2
MOST_CHARS = 300
# All of them are read: the greatest are shown.
EVERY_MARKET = 10_000
OBJECT: Schema = {"type": "object"}
OF_RESPONSE: Schema = {
    **dict.fromkeys(("venue", "endpoint", "file"), TEXT),
    **dict.fromkeys(("key", "params"), TEXT_OR_NULL),
    "received_ms": INTEGER_OR_NULL,
}
CHOSEN = ("metric", "base", "market", "venue", "type", "kind")


def resolve(values: Values, edition: Edition, keyed: bool) -> Asked:
    """The bucket that holds the time, at the finest step that is kept or the one that was asked for."""
    for name, known in (("base", find_coin), ("market", find_market), ("of", find_market)):
        if values[name] is not None:
            known(name, values[name], edition)
    rest: Values = dict.fromkeys(("range", "start", "end", "minute", "after"))
    rest |= {"body": "0", "limit": str(EVERY_MARKET), "step": values["step"] or AUTO}
    return resolve_explain({**values, **rest}, edition, keyed)


def answer(query: Asked, db: Reader) -> ToolResult:
    """The number, its greatest markets, and the evidence of one of them."""
    found = read_explanation(query, db)
    definition = db.edition.catalog.by_name[query.series.metric]
    ordered = sorted(found["markets"], key=lambda one: (-_size(one["values"]), one["market_id"]))
    span = Span(found["t"], min(found["end"], db.edition.as_of_ms))
    known = any(value is not None for value in found["values"].values())
    asked = {name: getattr(query.series, name) for name in CHOSEN if name != "base" or not query.series.market}
    page = {name: value for name, value in asked.items() if value is not None}
    page |= {"t": found["t"], "step": query.series.step}
    return ToolResult(
        data={
            **{name: found[name] for name in ("metric", "base", "market", "venue", "type", "kind", "t", "end")},
            "step": query.series.step,
            **{name: rounded(found[name]) for name in ("values", "formula", "sql", "sums")},
            "total": found["total"],
            "markets": rounded(ordered[:MOST_MARKETS]),
            "evidence": _evidence(found["evidence"]),
        },
        units={"t": "UTC epoch ms", **dict.fromkeys(definition.fields, definition.unit)},
        span=span,
        known=span if known else None,
        fresh_until_ms=fresh_until(found["t"], query.series.step_ms, span, db.edition),
        source=found["source"],
        method=definition.formula,
        caveats=definition.caveats,
        venue=query.series.venue,
        rest=f"/api/explain?{urlencode(page, safe=':')}",
        page=f"/explain?{urlencode(page)}",
    )


def _size(values: dict[str, float | None]) -> float:
    return max((abs(value) for value in values.values() if value is not None), default=0.0)


def _evidence(found: dict[str, Any] | None) -> dict[str, Any] | None:
    if found is None:
        return None
    responses = [
        {
            **{name: _short(one[name]) for name in OF_RESPONSE},
            "rows": [
                {"view": row["view"], "columns": {name: _short(value) for name, value in row["columns"].items()}}
                for row in one["rows"][:MOST_ROWS]
            ],
        }
        for one in found["responses"][:MOST_RESPONSES]
    ]
    # What an exchange sent is not rounded.
    return {**rounded({**found, "parts": found["parts"][-MOST_PARTS:]}), "responses": responses}


def _short(value: Any) -> Any:
    """A value that is not long; the beginning of one that is, as the levels of an order book are."""
    text = value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
    return value if len(text) <= MOST_CHARS else f"{text[:MOST_CHARS]}…"


# Field → number or null.
VALUES: Schema = {"type": "object"}
EXPLAIN_NUMBER = Tool(
    "explain_number",
    "Where one number came from",
    "Explains one value of a history: the bucket that holds t, its number with formula and SQL, the value of each"
    " market in it, and for one market (of, else the greatest) the minutes and the exchange's raw responses behind it.",
    {
        "metric": metric_argument("Metric of the history.", required=True),
        "t": utc_time("A time in the bucket, UTC, such as 2026-06-15T12:00:00Z.", required=True),
        "base": string(coin("Coin; exactly one of base and market.")),
        "market": market("One market, instead of base."),
        "venue": string(venue("As in the history.")),
        "type": string(one_of("As in the history.", "perp", "spot", "all")),
        "kind": string(kind("As in the history.")),
        "step": string(step("Bucket width of the history; the finest that is kept without it.")),
        "of": market("The market whose responses are shown, of markets."),
    },
    object_of(
        {
            **dict.fromkeys(("metric", "step", "formula", "sql"), TEXT),
            **dict.fromkeys(("base", "market", "venue", "type", "kind"), TEXT_OR_NULL),
            **dict.fromkeys(("t", "end"), INTEGER),
            "values": VALUES,
            "sums": {**VALUES, "description": "Over all markets: the number, where the formula is a sum."},
            "total": {**INTEGER, "description": "Markets with a value."},
            "markets": array_of(object_of({"market_id": TEXT, "values": VALUES}), f"The {MOST_MARKETS} greatest."),
            "evidence": {
                **object_of(
                    {
                        "market_id": TEXT,
                        "step": INTEGER,
                        "parts": array_of(object_of({"t": INTEGER, "values": VALUES})),
                        "t": INTEGER_OR_NULL,
                        "responses": array_of(object_of({**OF_RESPONSE, "rows": array_of(OBJECT)})),
                        "reason": {**TEXT_OR_NULL, "description": "Why responses are missing."},
                    },
                    nullable=True,
                ),
            },
        }
    ),
    resolve,
    answer,
)
