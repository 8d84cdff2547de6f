"""GET /api/hyperliquid/liquidations: probable liquidations, inferred from the fills of tracked wallets."""

from typing import Any

import numpy as np

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Values, one_of
from serve.contract.schemas import Schema
from serve.contract.serialize import Body, json_body
from serve.replica.edition import Reader
from serve.replica.gaps import before_recording, gaps_of
from serve.replica.unavailable import Fallback, Unavailable
from serve.replica.units import UNIT_MS, Span

WINDOWS = {"24h": UNIT_MS["d"], "7d": 7 * UNIT_MS["d"]}
LARGEST = 20
# The recorded endpoint whose gaps are listed. Fills of a wallet whose request failed come with its next request.
STREAM = "liquidator_fills"
NOTE = (
    "Inferred from the fills of tracked wallets and of the venue's liquidators. Liquidations in which none of them took"
    " part are not here."
)
SAMPLE_NOTE = (
    "A sample, not the market's total: the venue publishes no feed of all liquidations. Each wallet's fills are"
    " requested once in two hours, so the newest hours still grow."
)
USD, COUNT = {"type": "number"}, {"type": "integer"}
ARRAY = {"type": "array", "items": {"type": ["number", "null"]}}
SCHEMA: Schema = {
    "type": "object",
    "required": ["totals", "coins", "hourly"],
    "properties": {
        "window": {"enum": list(WINDOWS)},
        "from": COUNT,
        "to": {**COUNT, "description": "End of the window (exclusive): the edition's as_of."},
        "totals": {
            "type": "object",
            "required": ["long_usd", "short_usd", "n_long", "n_short"],
            "properties": {"long_usd": USD, "short_usd": USD, "n_long": COUNT, "n_short": COUNT},
        },
        "coins": {
            "type": "array",
            "description": "By liquidated notional, greatest first.",
            "items": {
                "type": "object",
                "required": ["coin", "long_usd", "short_usd", "n"],
                "properties": {"coin": {"type": "string"}, "long_usd": USD, "short_usd": USD, "n": COUNT},
            },
        },
        "hourly": {
            "type": "object",
            "required": ["t", "long", "short"],
            "properties": {"t": {"type": "array", "items": COUNT}, "long": ARRAY, "short": ARRAY},
            "description": "Clock hours, UTC epoch ms and USD; null: the hour was not recorded.",
        },
        "largest": {
            "type": "array",
            "items": {"type": "object", "required": ["t", "coin", "wallet", "side", "usd", "price"]},
        },
        "coverage": {
            "type": "object",
            "description": "since: start of the recording; fraction: recorded share of the window; gaps: the rest.",
        },
        "complete": {"type": "boolean", "description": "The whole window was recorded."},
        "partial": {"type": "boolean", "description": "A part of the window was not recorded."},
        "overflow": {"type": "boolean", "description": "Events of the window were dropped because of a size limit."},
        "retained_count": COUNT,
        "oldest_retained_ms": {"type": ["integer", "null"]},
        "note": {"type": "string"},
        "sample_note": {"type": "string"},
        "source": {"type": "string"},
        "db": {"const": False},
        "error": {"const": "unavailable"},
    },
}
SUMS = """
    coalesce(sum(usd) filter (side = 'long'), 0)::double as long_usd,
    coalesce(sum(usd) filter (side = 'short'), 0)::double as short_usd
"""


def without_replica(values: Values, outage: Unavailable, fallback: Fallback) -> Body:
    """The same structure without data."""
    empty: dict[str, Any] = {"totals": {"long_usd": 0, "short_usd": 0, "n_long": 0, "n_short": 0}, "coins": []}
    empty |= {"window": values["window"], "hourly": {"t": [], "long": [], "short": []}, "complete": False, "db": False}
    return json_body(empty if outage.missing else {**empty, "error": "unavailable"}, degraded=True)


@endpoint(
    "/api/hyperliquid/liquidations",
    ttl=30,
    schema=SCHEMA,
    statuses=(200, 400),
    offline=without_replica,
    params={"window": one_of("How far back.", *WINDOWS, default="24h")},
)
def wallet_liquidations(query: Values, db: Reader) -> Body:
    """Probable liquidations of tracked wallets: totals, by coin, by hour, and the largest ones."""
    end = db.edition.as_of_ms
    span = Span(end - WINDOWS[query["window"]], end)
    rows = f"wallet_liquidations where venue = 'hyperliquid' and t >= {span.start} and t < {span.end}"
    counts = "count(*) filter (side = 'long') as n_long, count(*) filter (side = 'short') as n_short"
    [totals] = db.rows(f"select {SUMS}, {counts} from {rows}")
    coins = db.rows(f"select coin, {SUMS}, count(*) as n from {rows} group by coin order by sum(usd) desc, coin")
    largest = db.rows(
        f"select t, coin, wallet, side, usd, price from {rows} order by usd desc, t, coin, tid limit {LARGEST}"
    )
    kept = db.rows("select count(*) as n, min(t) as oldest from wallet_liquidations where venue = 'hyperliquid'")[0]
    gaps = _gaps(db, span)
    return json_body(
        {
            "window": query["window"],
            "from": span.start,
            "to": span.end,
            "totals": totals,
            "coins": coins,
            "hourly": _hourly(db, rows, span, gaps),
            "largest": largest,
            "coverage": {
                "since": db.edition.recorded_since_ms,
                "fraction": 1 - _length(gaps, span) / (end - span.start),
                "gaps": gaps,
            },
            "complete": not gaps,
            "partial": bool(gaps),
            "overflow": False,
            "retained_count": kept["n"],
            "oldest_retained_ms": kept["oldest"],
            "note": NOTE,
            "sample_note": SAMPLE_NOTE,
            "source": f"wallet_liquidations@e{db.edition.edition_id}",
        }
    )


def _gaps(db: Reader, span: Span) -> list[dict[str, Any]]:
    """The unrecorded periods of the window."""
    return [*before_recording(db, np.empty(0, np.int64), 0, span), *gaps_of(db, STREAM, ("hyperliquid",), span)]


def _length(gaps: list[dict[str, Any]], span: Span) -> int:
    """How much of a span lies in gaps, ms; gaps may overlap."""
    total, reached = 0, span.start
    for gap in sorted(gaps, key=lambda gap: int(gap["start"])):
        start, end = max(gap["start"], reached), min(gap["end"], span.end)
        if end > start:
            total, reached = total + end - start, end
    return total


def _hourly(db: Reader, rows: str, span: Span, gaps: list[dict[str, Any]]) -> dict[str, list[Any]]:
    hour = UNIT_MS["h"]
    found = {row["h"]: row for row in db.rows(f"select t - t % {hour} as h, {SUMS} from {rows} group by h")}
    times = range(span.start - span.start % hour, span.end, hour)
    hours = [Span(max(t, span.start), min(t + hour, span.end)) for t in times]
    quiet = [None if _length(gaps, one) == one.end - one.start else 0.0 for one in hours]
    sides = {
        side: [found[t][f"{side}_usd"] if t in found else none for t, none in zip(times, quiet, strict=True)]
        for side in ("long", "short")
    }
    return {"t": list(times), **sides}
