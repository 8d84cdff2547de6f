"""xray_risk_ranking and xray_risk_history: estimated liquidations within a price band relative to order book depth."""

from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import numpy as np

from serve.contract.parameters import Values, one_of
from serve.contract.schemas import INTEGER, NUMBER, NUMBER_OR_NULL, TEXT, TEXT_OR_NULL, array_of, object_of
from serve.mcp.arguments import (
    check_order,
    find_market,
    iso,
    market,
    number_from,
    one_number,
    string,
    whole_number,
    window,
)
from serve.mcp.tool import Tool, ToolResult, fresh_until, rounded, summary, summary_schema
from serve.queries.accuracy import warn_of_inaccuracy
from serve.queries.time_range import span_of
from serve.queries.xray import (
    ARRAYS,
    BANDS,
    POINT,
    RANKED,
    STATES,
    STEPS,
    read_history,
    read_index,
    read_ranking,
)
from serve.replica.edition import Edition, Reader
from serve.replica.gaps import before_recording, gaps_within
from serve.replica.units import Span

# The metrics whose values the figures are made from.
MADE_FROM = ("price", "oi")
MAX_ROWS, MAX_POINTS = 50, 300
METHOD = (
    "ratio = estimated liquidations (USD) between the price and the band's edge / resting notional of the mark index's"
    " legs, by weight, out to the same edge: longs against bids, shorts against asks."
)
CAVEATS = (
    "Exposure is a model of leverage and entries, not positions that anybody reported; ratio_low and ratio_high are the"
    " same with the leverage assumption times 0.5 and times 2. They are not calibrated.",
    "Where a book ends inside the band its depth is a lower bound and the ratio an upper one: such rows are partial.",
)
UNITS = {
    "price": "USD per one coin",
    "oi_usd": "USD",
    "exposure_usd": "USD",
    "depth_usd": "USD",
    "ratio": "exposure / depth",
    "band_pct": "percent of the price",
}


class RankingQuery(NamedTuple):
    """Band, side, and filters of perps."""

    band_pct: float
    side: str
    min_oi_usd: float
    limit: int


class HistoryQuery(NamedTuple):
    """One perp's points: `start` is later than the requested `asked` if the window was clamped."""

    market: str
    step: str
    asked: int
    start: int
    end: int


def ranking(query: RankingQuery, db: Reader) -> ToolResult:
    """The newest rows of a band, by state."""
    by_state = read_ranking(db, query.band_pct, query.side, query.min_oi_usd)
    rows = [row for found in by_state.values() for row in found]
    newest = max((row["t"] for row in rows), default=None)
    step, as_of = STEPS["5m"], db.edition.as_of_ms
    span = Span(as_of - step, as_of)
    return ToolResult(
        data={
            "band_pct": query.band_pct,
            "side": query.side,
            "sensitivity_calibrated": False,
            "counts": {state: len(found) for state, found in by_state.items()},
            "ranked": [{"rank": rank, **_row(row)} for rank, row in enumerate(by_state["full"][: query.limit], 1)],
            "partial": [{**_row(row), "reason": row["reason"]} for row in by_state["partial"][: query.limit]],
        },
        units=UNITS,
        span=span,
        known=Span(newest, newest + step) if newest is not None else None,
        fresh_until_ms=fresh_until(newest, step, span, db.edition),
        source=f"xray_risk@e{db.edition.edition_id}",
        method=METHOD,
        caveats=CAVEATS,
        warnings=warn_of_inaccuracy(db, MADE_FROM, None),
        page=f"/xray?{urlencode({'band': f'{query.band_pct:g}', 'side': query.side})}",
    )


def resolve_history(values: Values, edition: Edition, keyed: bool) -> HistoryQuery:
    """The canonical query: a window with too many points is cut at its start."""
    chosen = find_market("market", values["market"], edition)
    check_order(values)
    span = span_of(values["start"], values["end"], values["range"], edition.as_of_ms)
    start = max(span.start, span.end - MAX_POINTS * STEPS[values["step"]])
    return HistoryQuery(chosen, values["step"], span.start, start, span.end)


def history(query: HistoryQuery, db: Reader) -> ToolResult:
    """The points of one perp; each figure is an array over the bands."""
    step, span = STEPS[query.step], Span(query.start, query.end)
    found = [_point(point) for point in read_history(db, query.market, query.step, span)]
    legs = read_index(db, query.market)
    warnings = []
    if query.start > query.asked:
        message = f"At most {MAX_POINTS} points: the window begins at {iso(query.start)} instead."
        warnings.append({"code": "clamped", "message": message})
    venue = query.market.partition(":")[0]
    return ToolResult(
        data={
            "market": query.market,
            "step": query.step,
            "bands_pct": BANDS,
            "sensitivity_calibrated": False,
            "summary": {
                name: [_summary(found, name, at) for at in range(len(BANDS))] for name in ("ratio_long", "ratio_short")
            },
            "index": [{**leg, "weight": rounded(leg["weight"])} for leg in legs],
            "points": found,
        },
        units={**UNITS, "t": "UTC epoch ms", "weight": "fraction of the index"},
        span=Span(query.asked, query.end),
        known=Span(found[0]["t"], found[-1]["t"] + step) if found else None,
        fresh_until_ms=fresh_until(found[-1]["t"] if found else None, step, span, db.edition),
        source=f"xray_risk, xray_index@e{db.edition.edition_id}",
        method=METHOD,
        caveats=CAVEATS,
        gaps=_gaps(db, span, venue),
        venue=venue,
        warnings=warnings + warn_of_inaccuracy(db, MADE_FROM, None, venue),
        page=f"/markets/{quote(query.market, safe='')}",
    )


def _point(point: dict[str, Any]) -> dict[str, Any]:
    return {name: [rounded(one) for one in value] if name in ARRAYS else value for name, value in point.items()} | {
        "price": rounded(point["price"])
    }


def _row(row: dict[str, Any]) -> dict[str, Any]:
    return {name: rounded(row[name]) for name in RANKED}


def _summary(points: list[dict[str, Any]], name: str, band: int) -> dict[str, Any]:
    return summary(np.array([point[name][band] for point in points], float))


def _gaps(db: Reader, span: Span, venue: str) -> list[dict[str, Any]]:
    definition = db.edition.catalog.by_name.get("oi")
    recorded = gaps_within(db, definition, "perp", venue, span) if definition else []
    return [*before_recording(db, np.empty(0, np.int64), 0, span), *recorded]


XRAY_RISK_RANKING = Tool(
    "xray_risk_ranking",
    "Ranking by liquidation risk",
    "Ranks perps by how much would be liquidated if the price moved through a band, divided by what rests in the books"
    " of their mark index out to there (an estimate). Only fresh rows of full coverage are ranked, partial ones are"
    " listed apart, stale and insufficient ones counted. For one perp over time use xray_risk_history.",
    {
        "band_pct": one_number("Width of the price band, percent.", *BANDS, default=2.0),
        "side": string(
            one_of("Whose liquidations: longs, shorts, or both together.", "long", "short", "both", default="both")
        ),
        "min_oi_usd": number_from("Only perps with at least this open interest, USD.", 0, 0.0),
        "limit": whole_number("At most so many ranked, and so many partial, rows.", 1, MAX_ROWS, 20),
    },
    object_of(
        {
            "band_pct": NUMBER,
            "side": TEXT,
            "sensitivity_calibrated": {"const": False},
            "counts": {**object_of(dict.fromkeys(STATES, INTEGER)), "description": "Perps by state; full: ranked."},
            "ranked": array_of(object_of({"rank": INTEGER, **RANKED}), "Greatest ratio first."),
            "partial": array_of(
                object_of({**RANKED, "reason": TEXT_OR_NULL}), "Not ranked: the ratio is an upper bound."
            ),
        }
    ),
    lambda values, edition, keyed: RankingQuery(**values),
    ranking,
)
XRAY_RISK_HISTORY = Tool(
    "xray_risk_history",
    "Liquidation risk of one perp over time",
    "One perp's estimated liquidation exposure, the depth of its mark index and their ratio over time, for price bands"
    " of 0.5, 1, 2 and 5 percent, with the composition of the index. At most 300 points; a longer window loses its"
    " start.",
    {
        "market": market("The perp (market_snapshot lists them).", required=True),
        **window("Length up to now; 1d without it.", "12h"),
        "step": string(one_of("Time between points.", *STEPS, default="1h")),
    },
    object_of(
        {
            "market": TEXT,
            "step": TEXT,
            "bands_pct": array_of(NUMBER, "What each array of a point is over."),
            "sensitivity_calibrated": {"const": False},
            "summary": {
                **object_of(dict.fromkeys(("ratio_long", "ratio_short"), array_of(summary_schema()))),
                "description": "By band, over the points.",
            },
            "index": array_of(
                object_of({"exchange": TEXT, "pair": TEXT, "weight": NUMBER_OR_NULL}), "Legs of the mark index."
            ),
            "points": array_of(POINT),
        }
    ),
    resolve_history,
    history,
)
