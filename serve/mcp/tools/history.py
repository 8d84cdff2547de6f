"""metric_history, and for three metrics a tool of their own: a series of the JSON API, sized for a context window."""

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from serve.contract.parameters import Param, Values, coin, kind, one_of, step, venue
from serve.contract.schemas import INTEGER, NUMBER_OR_NULL, TEXT, TEXT_OR_NULL, Schema, array_of, object_of
from serve.contract.serialize import significant
from serve.mcp.arguments import check_order, find_coin, find_market, iso, market, metric_argument, string, window
from serve.mcp.tool import DIGITS, Tool, ToolResult, fresh_until, summary, summary_schema
from serve.queries.accuracy import warn_of_inaccuracy
from serve.queries.coverage import Coverage
from serve.queries.series import Points, describe_series, read_points, read_venues, with_data
from serve.queries.series_query import SeriesQuery, resolve_series
from serve.replica.catalog import Catalog, Metric
from serve.replica.edition import Edition, Reader
from serve.replica.units import UNIT_MS, Span

DEFAULT_POINTS = 200
DEFAULT_POINTS_OF_EACH = 50
TYPES = ("perp", "spot", "all")
# Further figures in the summary of a metric's fields.
EXTRA_FIGURES = {
    "oi": ("change_fraction",),
    "price": ("change_fraction",),
    "liquidations": ("total",),
    "volume": ("total",),
    "taker-flow": ("total",),
}
SELECTED = dict.fromkeys(("base", "market", "venue", "type"), TEXT_OR_NULL)
SUMMARY = "Over the known buckets; change = last - first."
SERIES = "t: bucket starts. Unrecorded buckets are absent."
VENUES_OF: Schema = {
    "type": "object",
    # Not spelled out again: it is as above, and is part of what a model reads first.
    "additionalProperties": {"type": "object", "required": ["summary", "series"]},
    "description": "With by: each exchange's, in the buckets `t` of series.",
}


class HistoryQuery(NamedTuple):
    """The series, and the requested step."""

    series: SeriesQuery
    asked: str | None


def _types(metric: str) -> Param:
    """The market types of a metric, from its definition."""
    plain = string(one_of("perp without it.", *TYPES))

    def schema(catalog: Catalog) -> Schema:
        known = catalog.by_name.get(metric)
        return {"type": "string", "enum": list(known.types if known and known.types else TYPES)}

    return Param(plain.description, plain.read, schema)


def _selection(longest: str, type_: Param) -> dict[str, Param]:
    """The arguments that all histories have."""
    return {
        "base": string(coin("Coin, in any case; exactly one of base and market.")),
        "market": market("One market (market_snapshot lists them), instead of base."),
        **window(f"Length up to now, 1d without it, {longest}.", "30d"),
        "step": string(step("Bucket width; about 200 buckets (50 with by) without it. Raised where too fine.")),
        "venue": string(venue("One exchange instead of all.")),
        "by": string(one_of("Each exchange's series; with base, without venue.", "venue")),
        "type": type_,
    }


def _resolve(metric: str, kind: str | None, values: Values, edition: Edition, keyed: bool) -> HistoryQuery:
    check_order(values)
    for name, known in (("base", find_coin), ("market", find_market)):
        if values[name] is not None:
            known(name, values[name], edition)
    asked = {**values, "metric": metric, "kind": kind, "format": "json", "coverage": "0"}
    wanted = DEFAULT_POINTS_OF_EACH if values["by"] else DEFAULT_POINTS
    return HistoryQuery(resolve_series(asked, edition, keyed, points_wanted=wanted), values["step"])


def _history(metric: str, fields: tuple[str, ...], name: str, title: str, description: str, longest: str) -> Tool:
    def resolve(values: Values, edition: Edition, keyed: bool) -> HistoryQuery:
        return _resolve(metric, None, values, edition, keyed)

    def answer(query: HistoryQuery, db: Reader) -> ToolResult:
        return _answer(query, db)

    def notes(catalog: Catalog) -> str:
        known = catalog.by_name.get(metric)
        return " ".join([f"Unit: {known.unit}.", known.description, *known.caveats[:1]]) if known else ""

    figures = object_of(dict.fromkeys(fields, summary_schema(*EXTRA_FIGURES.get(metric, ()))), optional=fields)
    arrays = object_of({"t": array_of(INTEGER), **dict.fromkeys(fields, array_of(NUMBER_OR_NULL))}, optional=fields)
    data = object_of(
        {
            "metric": TEXT,
            **SELECTED,
            "step": TEXT,
            "summary": {**figures, "description": SUMMARY},
            "series": {**arrays, "description": SERIES},
            "venues": VENUES_OF,
        },
        optional=("venues",),
    )
    return Tool(name, title, description, _selection(longest, _types(metric)), data, resolve, answer, notes)


def _resolve_any(values: Values, edition: Edition, keyed: bool) -> HistoryQuery:
    return _resolve(values["metric"], values["kind"], values, edition, keyed)


def _answer(query: HistoryQuery, db: Reader) -> ToolResult:
    asked = with_data(query.series, db)
    definition = db.edition.catalog.by_name[asked.metric]
    found, data = (_each if asked.by else _one)(asked, db, definition)
    t = data["series"]["t"]
    known = Span(int(t[0]), min(int(t[-1]) + asked.step_ms, asked.end)) if t.size else None
    warnings = []
    if query.asked and query.asked != asked.step:
        message = f"step {query.asked} is too fine for this range: coarsened to {asked.step}."
        warnings.append({"code": "coarsened", "message": message})
    elif asked.coarsened:
        warnings.append({"code": "coarsened", "message": f"{asked.coarsened}: the step is {asked.step}."})
    since = db.edition.recorded_since_ms
    if t.size and (since is None or int(t[0]) + asked.step_ms <= since):
        before = f" before {iso(since)}" if since is not None else ""
        message = (
            f"Values{before} are the venues' own history, which may lack venues and markets: sums before and after"
            " are not comparable."
        )
        warnings.append({"code": "coverage_unknown", "message": message})
    own_venue = asked.market.partition(":")[0] if asked.market else asked.venue
    warnings += warn_of_inaccuracy(db, [asked.metric], asked.base, own_venue)
    selected = {"base": asked.base, "market": asked.market, "venue": asked.venue, "type": asked.type}
    selected |= {"kind": asked.kind} if asked.kind else {}
    return ToolResult(
        data={
            "metric": asked.metric,
            **selected,
            "step": asked.step,
            **data,
        },
        units={"t": "UTC epoch ms, start of the bucket", **dict.fromkeys(definition.fields, definition.unit)},
        span=asked.span,
        known=known,
        fresh_until_ms=fresh_until(int(t[-1]) if t.size else None, asked.step_ms, asked.span, db.edition),
        source=describe_series(asked, db)["source"],
        method=definition.formula,
        caveats=definition.caveats,
        gaps=found.gaps,
        venue=asked.venue,
        markets=_markets(found.known),
        warnings=warnings,
        rest=f"/api/series/{asked.metric}?{_rest(asked, definition, db.edition.catalog.steps)}",
        page=_page(asked),
    )


def _one(asked: SeriesQuery, db: Reader, definition: Metric) -> tuple[Points, dict[str, Any]]:
    """The series, and its part of the data."""
    found = read_points(asked, db)
    own = _described(found.columns, definition)
    return found, {**own, "series": {"t": found.columns["t"], **own["series"]}}


def _each(asked: SeriesQuery, db: Reader, definition: Metric) -> tuple[Points, dict[str, Any]]:
    """The series of each venue, in the buckets of all."""
    t, by_venue, gaps = read_venues(asked, db)
    venues = {venue: _described(columns, definition) for venue, columns in by_venue.items()}
    return Points({}, {}, gaps, None), {"summary": {}, "series": {"t": t}, "venues": venues}


def _described(columns: Mapping[str, Any], definition: Metric) -> dict[str, Any]:
    values, extra = {name: columns[name] for name in definition.fields}, EXTRA_FIGURES.get(definition.name, ())
    return {
        "summary": {name: summary(known, *extra) for name, known in values.items()},
        "series": {name: significant(known, DIGITS) for name, known in values.items()},
    }


def _markets(known: Coverage | None) -> dict[str, int] | None:
    if known is None or known.expected is None or not known.n.size:
        return None
    newest = {"n": int(known.n[-1]), "expected": int(known.expected[-1])}
    return {**newest, "buckets": known.n.size, "incomplete": int((known.n < known.expected).sum())}


def _rest(asked: SeriesQuery, metric: Metric, steps: tuple[str, ...]) -> str:
    """The same request to the JSON API, as CSV."""
    if asked.market:
        chosen = {"market": asked.market}
    elif asked.base:
        chosen = {"base": asked.base, **({"type": asked.type} if metric.types else {})}
        chosen |= {"venue": asked.venue} if asked.venue else {"by": asked.by} if asked.by else {}
    else:
        chosen = {}
    chosen |= {"kind": asked.kind} if asked.kind else {}
    step = {"step": asked.step} if asked.step in steps else {}
    start = asked.start
    for most in (metric.max_range_d, metric.max_range_with_key_d):
        # The query begins with its first bucket, which may lie before the longest allowed range.
        if 0 < asked.end - start - most * UNIT_MS["d"] < asked.step_ms:
            start = asked.end - most * UNIT_MS["d"]
    return urlencode({**chosen, "start": start, "end": asked.end, **step, "format": "csv"}, safe=":")


def _page(asked: SeriesQuery) -> str:
    """The page that draws the series of this range."""
    shown = {"start": asked.start, "end": asked.end, "step": asked.step}
    if asked.market:
        return f"/markets/{quote(asked.market, safe='')}?{urlencode(shown)}"
    if not asked.base:
        return f"/catalog/{asked.metric}"
    shown |= {"venue": asked.venue} if asked.venue else {}
    return f"/coins/{quote(asked.base, safe='')}/{asked.metric}?{urlencode(shown)}"


FUNDING_HISTORY = _history(
    "funding",
    ("v",),
    "funding_history",
    "Funding rate history",
    "History of the funding rate of a coin's perps together, or of one market.",
    "at most 10y",
)
OI_HISTORY = _history(
    "oi",
    ("v",),
    "oi_history",
    "Open interest history",
    "History of the open interest of a coin over its markets, or of one market.",
    "at most 730d (10y with an API key)",
)
LIQUIDATIONS_HISTORY = _history(
    "liquidations",
    ("long", "short"),
    "liquidations_history",
    "Liquidations history",
    "History of the long and short notional that was liquidated of a coin or in one market.",
    "at most 730d (10y with an API key)",
)
METRIC_HISTORY = Tool(
    "metric_history",
    "History of any metric",
    "History of any metric over time, all in one form: candles, basis, long/short ratios, taker flow, order-book depth"
    " and more (list_metrics says what each means, its fields, and whether it is of coins, markets or all coins"
    " together).",
    {
        "metric": metric_argument("One of list_metrics.", required=True),
        **_selection(
            "at most 730d or more (list_metrics)",
            string(one_of("As list_metrics has them; perp without it.", *TYPES)),
        ),
        "kind": string(kind("Share of what; long-short only.")),
    },
    object_of(
        {
            "metric": TEXT,
            **SELECTED,
            "kind": TEXT,
            "step": TEXT,
            "summary": {
                "type": "object",
                "additionalProperties": summary_schema(),
                "description": f"By field. {SUMMARY}",
            },
            "series": {
                **object_of({"t": array_of(INTEGER)}),
                "additionalProperties": array_of(NUMBER_OR_NULL),
                "description": f"An array for each field; {SERIES}",
            },
            "venues": VENUES_OF,
        },
        optional=("kind", "venues"),
    ),
    _resolve_any,
    _answer,
)
