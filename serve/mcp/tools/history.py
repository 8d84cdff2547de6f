"""funding_history, oi_history, liquidations_history: a series of the JSON API, sized for a context window."""

from typing import NamedTuple
from urllib.parse import urlencode

from serve.contract.parameters import Param, Values, coin, duration, market, one_of, step, venue
from serve.contract.schemas import INTEGER, NUMBER_OR_NULL, TEXT, TEXT_OR_NULL, Schema, array_of, object_of
from serve.contract.serialize import significant
from serve.mcp.arguments import check_order, find_coin, find_market, iso, string, utc_time
from serve.mcp.tool import DIGITS, Tool, ToolResult, fresh_until, summary, summary_schema
from serve.queries.accuracy import warn_of_inaccuracy
from serve.queries.coverage import Coverage
from serve.queries.series import describe_series, read_points, with_data
from serve.queries.series_query import SeriesQuery, resolve_series
from serve.replica.catalog import Catalog, Metric
from serve.replica.edition import Edition, Reader
from serve.replica.units import UNIT_MS, Span

DEFAULT_POINTS = 200
TYPES = ("perp", "spot", "all")
# Further figures in the summary of a metric's fields.
EXTRA_FIGURES = {"oi": ("change_fraction",), "liquidations": ("total",)}


class HistoryQuery(NamedTuple):
    """The series, and the requested step."""

    series: SeriesQuery
    asked: str | None


def _types(metric: str) -> Param:
    """The market types of a metric, from its definition."""
    plain = string(one_of("Kind of market; perp without it.", *TYPES))

    def schema(catalog: Catalog) -> Schema:
        known = catalog.by_name.get(metric)
        return {"type": "string", "enum": list(known.types if known and known.types else TYPES)}

    return Param(plain.description, plain.read, schema)


def _history(metric: str, fields: tuple[str, ...], name: str, title: str, description: str, longest: str) -> Tool:
    def resolve(values: Values, edition: Edition, keyed: bool) -> HistoryQuery:
        check_order(values)
        for name, known in (("base", find_coin), ("market", find_market)):
            if values[name] is not None:
                known(name, values[name], edition)
        asked = {**values, "metric": metric, "kind": None, "format": "json", "coverage": "0"}
        return HistoryQuery(resolve_series(asked, edition, keyed, points_wanted=DEFAULT_POINTS), values["step"])

    def answer(query: HistoryQuery, db: Reader) -> ToolResult:
        return _answer(query, db)

    def notes(catalog: Catalog) -> str:
        known = catalog.by_name.get(metric)
        return " ".join([f"Unit: {known.unit}.", known.description, *known.caveats]) if known else ""

    selected = dict.fromkeys(("base", "market", "venue", "type"), TEXT_OR_NULL)
    data = object_of(
        {
            "metric": TEXT,
            **selected,
            "step": {**TEXT, "description": "Width of a bucket."},
            "summary": {
                **object_of(dict.fromkeys(fields, summary_schema(*EXTRA_FIGURES.get(metric, ())))),
                "description": "By field, over the known buckets; change = last - first.",
            },
            "series": {
                **object_of({"t": array_of(INTEGER), **dict.fromkeys(fields, array_of(NUMBER_OR_NULL))}),
                "description": "Bucket starts (UTC epoch ms) and values. null: unknown; unrecorded buckets are absent.",
            },
        }
    )
    params = {
        "base": string(coin("Coin symbol, in any case. Give exactly one of base and market.")),
        "market": string(market("One market as venue:perp|spot:SYMBOL (market_snapshot lists them), instead of base.")),
        "range": string(duration(f"Length up to now: a number and m, h, d, w or y; 1d without it, {longest}.", "30d")),
        "start": utc_time("Start in UTC, ending in Z; together with end (or range), instead of range alone."),
        "end": utc_time("End in UTC (exclusive), ending in Z; now without it. Never in the future."),
        "step": string(
            step("Bucket width; without it about 200 buckets. One that is too fine for the range is raised.")
        ),
        "venue": string(venue("One exchange; all of them together without it.")),
        "type": _types(metric),
    }
    return Tool(name, title, description, params, data, resolve, answer, notes)


def _answer(query: HistoryQuery, db: Reader) -> ToolResult:
    asked = with_data(query.series, db)
    definition = db.edition.catalog.by_name[asked.metric]
    found = read_points(asked, db)
    t, fields = found.columns["t"], {name: found.columns[name] for name in definition.fields}
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
    return ToolResult(
        data={
            "metric": asked.metric,
            **selected,
            "step": asked.step,
            "summary": {name: summary(values, *EXTRA_FIGURES.get(asked.metric, ())) for name, values in fields.items()},
            "series": {"t": t, **{name: significant(values, DIGITS) for name, values in fields.items()}},
        },
        units={"t": "UTC epoch ms, start of the bucket", **dict.fromkeys(fields, definition.unit)},
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
    )


def _markets(known: Coverage | None) -> dict[str, int] | None:
    if known is None or known.expected is None or not known.n.size:
        return None
    newest = {"n": int(known.n[-1]), "expected": int(known.expected[-1])}
    return {**newest, "buckets": known.n.size, "incomplete": int((known.n < known.expected).sum())}


def _rest(asked: SeriesQuery, metric: Metric, steps: tuple[str, ...]) -> str:
    """The same request to the JSON API, as CSV."""
    if asked.market:
        chosen = {"market": asked.market}
    else:
        chosen = {"base": asked.base or "", "type": asked.type, **({"venue": asked.venue} if asked.venue else {})}
    step = {"step": asked.step} if asked.step in steps else {}
    start = asked.start
    for most in (metric.max_range_d, metric.max_range_with_key_d):
        # The query begins with its first bucket, which may lie before the longest allowed range.
        if 0 < asked.end - start - most * UNIT_MS["d"] < asked.step_ms:
            start = asked.end - most * UNIT_MS["d"]
    return urlencode({**chosen, "start": start, "end": asked.end, **step, "format": "csv"}, safe=":")


FUNDING_HISTORY = _history(
    "funding",
    ("v",),
    "funding_history",
    "Funding rate history",
    "History of the funding rate of a coin's perps together, or of one market, as a fraction per 8 hours and bucket.",
    "at most 10y",
)
OI_HISTORY = _history(
    "oi",
    ("v",),
    "oi_history",
    "Open interest history",
    "History of the open interest of a coin over its markets, or of one market, in USD per bucket.",
    "at most 730d (10y with an API key)",
)
LIQUIDATIONS_HISTORY = _history(
    "liquidations",
    ("long", "short"),
    "liquidations_history",
    "Liquidations history",
    "History of the long and short notional that was liquidated of a coin or in one market, in USD per bucket.",
    "at most 730d (10y with an API key)",
)
