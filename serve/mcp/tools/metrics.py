"""list_metrics: what each metric of the edition means, and how its history can be asked for."""

from typing import Any

from serve.contract.errors import BadParameter
from serve.contract.parameters import Values
from serve.contract.schemas import TEXT, array_of, object_of
from serve.mcp.arguments import metric_argument
from serve.mcp.tool import Tool, ToolResult, fresh_until
from serve.queries.figures.metrics import listed
from serve.replica.edition import Edition, Reader
from serve.replica.units import UNIT_MS, Span

BRIEF = ("metric", "title", "unit", "fields", "selectors", "types", "kinds")
WHOLE = ("formula", "caveats", "aliases", "steps", "known_later", "history", "series", "methodology")


def resolve(values: Values, edition: Edition, keyed: bool) -> str | None:
    """The metric by its canonical name; None for all."""
    if values["metric"] is None:
        return None
    found = edition.catalog.by_name.get(values["metric"])
    if found is None:
        names = edition.catalog.names
        raise BadParameter("metric", values["metric"], "use one of " + ", ".join(names), names)
    return found.name


def answer(query: str | None, db: Reader) -> ToolResult:
    """All metrics in brief, or one with everything."""
    catalog, as_of, minute = db.edition.catalog, db.edition.as_of_ms, UNIT_MS["m"]
    content = listed(catalog)
    span = Span(as_of - minute, as_of)
    return ToolResult(
        data={
            "metrics": [
                _brief(one) if query is None else _whole(one)
                for one in content["metrics"]
                if query in (None, one["metric"])
            ],
            "steps": list(catalog.steps),
            "venues": list(content["venues"]),
        },
        units={one.name: one.unit for one in catalog.metrics if query in (None, one.name)},
        span=span,
        known=span,
        fresh_until_ms=fresh_until(as_of - minute, minute, span, db.edition),
        source=f"catalog@e{db.edition.edition_id}",
        method="The definitions that dbt builds the tables with, published with each edition.",
        rest="/api/metrics",
        page="/catalog" if query is None else f"/catalog/{query}",
    )


def _brief(metric: dict[str, Any]) -> dict[str, Any]:
    meaning = metric["description"].partition(". ")[0].rstrip(".") + "."
    return {**{name: metric[name] for name in BRIEF}, "description": meaning, "finest_step": _finest(metric)}


def _whole(metric: dict[str, Any]) -> dict[str, Any]:
    own = {name: metric[name] for name in (*BRIEF, "description")}
    return {**own, "finest_step": _finest(metric), **{name: metric[name] for name in WHOLE}}


def _finest(metric: dict[str, Any]) -> str | None:
    return metric["steps"][0] if metric["steps"] else None


LIST_METRICS = Tool(
    "list_metrics",
    "Metrics and their meaning",
    "All metrics that metric_history has: meaning, unit, fields, and whether they are asked for by base, by market or"
    " (all) of all coins together. With metric, one definition in full: formula, caveats, aliases, steps.",
    {"metric": metric_argument("This one alone, in full.")},
    object_of(
        {
            "metrics": array_of(
                object_of(
                    {
                        **dict.fromkeys(("metric", "title", "unit", "description"), TEXT),
                        **dict.fromkeys(("fields", "selectors", "types", "kinds"), array_of(TEXT)),
                        "finest_step": {"type": ["string", "null"]},
                    }
                )
            ),
            "steps": array_of(TEXT),
            "venues": array_of(TEXT),
        }
    ),
    resolve,
    answer,
)
