"""GET /api/xray and /api/xray/{market}: estimated liquidations in a price band against the depth before them."""

from typing import NamedTuple

from serve.contract.endpoint import endpoint
from serve.contract.errors import ApiError, BadParameter
from serve.contract.known import known_market
from serve.contract.parameters import Values, market, one_of, window
from serve.contract.schemas import (
    INTEGER,
    INTEGER_OR_NULL,
    NUMBER,
    NUMBER_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    Schema,
    array_of,
    object_of,
)
from serve.contract.serialize import Body, json_body
from serve.queries.time_range import span_of
from serve.queries.xray import BANDS, POINT, RANKED, SIDES, STATES, STEPS, read_history, read_index, read_ranking
from serve.replica.edition import Edition, Reader
from serve.replica.units import Span

LEAST_OI = ("0", "1000000", "10000000", "100000000")
LIMITS = ("20", "50", "200")
MAX_POINTS = 2000
CALIBRATED: Schema = {"const": False, "description": "The model's leverage is an assumption, which nothing calibrates."}
RANKING = object_of(
    {
        "band_pct": NUMBER,
        "side": {"enum": list(SIDES)},
        "sensitivity_calibrated": CALIBRATED,
        "t": {**INTEGER_OR_NULL, "description": "Of the rows, UTC epoch ms; null: there are none."},
        "counts": {
            **object_of(dict.fromkeys(STATES, INTEGER)),
            "description": "Perps by state; stale and insufficient ones are not listed.",
        },
        "rows": array_of(
            object_of(
                {
                    "rank": {
                        **INTEGER_OR_NULL,
                        "description": "null: the row is partial, and its ratio an upper bound.",
                    },
                    **RANKED,
                    "state": {"enum": ["full", "partial"]},
                    "reason": {**TEXT_OR_NULL, "description": "Why it is partial."},
                }
            ),
            "Full ones by rank, then partial ones.",
        ),
        "source": TEXT,
    }
)
HISTORY = object_of(
    {
        "market": TEXT,
        "step": {"enum": list(STEPS)},
        **dict.fromkeys(("start", "end"), INTEGER),
        "bands_pct": {"const": list(BANDS)},
        "sensitivity_calibrated": CALIBRATED,
        "index": array_of(
            object_of({"exchange": TEXT, "pair": TEXT, "weight": NUMBER_OR_NULL}), "Legs of the mark index."
        ),
        "points": array_of(POINT, "Each figure is an array over bands_pct."),
        "source": TEXT,
    }
)


@endpoint(
    "/api/xray",
    ttl=30,
    statuses=(200, 400, 503),
    schema=RANKING,
    table="rows",
    params={
        "band_pct": one_of("Width of the price band, percent.", *(f"{band:g}" for band in BANDS), default="2"),
        "side": one_of("Whose liquidations: longs, shorts, or both together.", *SIDES, default="both"),
        "min_oi_usd": one_of("Smallest open interest, USD.", *LEAST_OI, default="0"),
        "limit": one_of("Most ranked rows, and most partial ones.", *LIMITS, default="50"),
    },
)
def xray(query: Values, db: Reader) -> Body:
    """Perps by what would be liquidated if the price moved through a band, over what rests in the books before it."""
    most = int(query["limit"])
    found = read_ranking(db, float(query["band_pct"]), query["side"], float(query["min_oi_usd"]))
    listed = [(rank, row) for rank, row in enumerate(found["full"][:most], 1)]
    rows = [*listed, *((None, row) for row in found["partial"][:most])]
    return json_body(
        {
            "band_pct": float(query["band_pct"]),
            "side": query["side"],
            "sensitivity_calibrated": False,
            "t": max((row["t"] for state in found.values() for row in state), default=None),
            "counts": {state: len(listed) for state, listed in found.items()},
            "rows": [
                {"rank": rank, **{name: row[name] for name in (*RANKED, "state", "reason")}} for rank, row in rows
            ],
            "source": f"xray_risk@e{db.edition.edition_id}",
        }
    )


class HistoryQuery(NamedTuple):
    """The canonical query of one perp."""

    market: str
    step: str
    span: Span


def resolve_history(values: Values, edition: Edition, keyed: bool) -> HistoryQuery:
    """The canonical query; raises the 400 or 404 of an invalid one."""
    if known_market(edition, values["market"]).type != "perp":
        raise BadParameter("market", values["market"], "the risk is of perps only")
    span = span_of(values["start"], values["end"], values["range"], edition.as_of_ms)
    if span.end - span.start > MAX_POINTS * STEPS[values["step"]]:
        most = f"{MAX_POINTS} points: at most {MAX_POINTS * STEPS[values['step']] // STEPS['1h']}h of {values['step']}"
        raise ApiError(400, f"range: the window has more than {most}")
    return HistoryQuery(values["market"], values["step"], span)


@endpoint(
    "/api/xray/{market}",
    ttl=30,
    budget="series",
    statuses=(200, 400, 404, 503),
    schema=HISTORY,
    resolve=resolve_history,
    params={
        "market": market("The perp."),
        **window("Length of the range; 1d without it.", "7d"),
        "step": one_of("Time between points.", *STEPS, default="1h"),
    },
)
def xray_history(query: HistoryQuery, db: Reader) -> Body:
    """One perp's estimated liquidations by band, the depth of its mark index, and their ratio over time."""
    return json_body(
        {
            "market": query.market,
            "step": query.step,
            "start": query.span.start,
            "end": query.span.end,
            "bands_pct": BANDS,
            "sensitivity_calibrated": False,
            "index": read_index(db, query.market),
            "points": read_history(db, query.market, query.step, query.span),
            "source": f"xray_risk, xray_index@e{db.edition.edition_id}",
        }
    )
