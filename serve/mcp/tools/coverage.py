"""data_coverage: what was recorded, and the periods that are missing, by exchange and kind of data."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from serve.contract.parameters import Values, venue
from serve.contract.schemas import INTEGER, INTEGER_OR_NULL, NUMBER_OR_NULL, TEXT, TEXT_OR_NULL, array_of, object_of
from serve.mcp.arguments import check_order, string, window
from serve.mcp.tool import Tool, ToolResult, fresh_until, rounded
from serve.queries.figures.recorded import COUNTS, MAX_DAYS, GapsQuery, read_days, read_gaps, resolve_gaps
from serve.replica.edition import Edition, Reader
from serve.replica.gaps import before_recording
from serve.replica.units import DAY_MS, UNIT_MS, Span

# More than there are kinds of data of all exchanges, which may all begin in one minute.
MOST_READ, MOST_GAPS = 10_000, 30


def resolve(values: Values, edition: Edition, keyed: bool) -> GapsQuery:
    """The canonical query."""
    check_order(values)
    return resolve_gaps(values, edition, keyed)


def answer(query: GapsQuery, db: Reader) -> ToolResult:
    """Shares of the range's days by exchange, or by kind of one exchange, and the longest gaps of the range."""
    span, minute = query.span, UNIT_MS["m"]
    first = span.start // DAY_MS * DAY_MS
    kinds = [
        {"endpoint": row["endpoint"], "venue": row["venue"], **_counted(row, span)}
        for row in read_days(db, first)
        if query.venue in (None, row["venue"])
    ]
    gaps = read_gaps(db, span, query.venue, MOST_READ + 1)
    longest = sorted(gaps, key=lambda gap: (gap["start"] - gap["end"], gap["start"]))[:MOST_GAPS]
    warnings = []
    if len(gaps) > MOST_READ:
        message = f"More than {MOST_READ} gaps: those of the end of the range were not read; ask for a shorter one."
        warnings.append({"code": "clamped", "message": message})
    recorder = [{name: gap[name] for name in ("start", "end", "venue", "reason")} for gap in gaps if not gap["venue"]]
    before = before_recording(db, np.empty(0, np.int64), 0, span)
    as_of = db.edition.as_of_ms
    return ToolResult(
        data=rounded(
            {
                "recorded_since": db.edition.recorded_since_ms,
                "days": {"start": first, "end": span.end},
                "summary": _whole(kinds),
                "venues": _by_venue(kinds),
                "kinds": [{name: value for name, value in one.items() if name != "venue"} for one in kinds]
                if query.venue
                else [],
                "gaps": sorted(longest, key=lambda gap: gap["start"]),
                "gaps_total": len(gaps),
            }
        ),
        units={**dict.fromkeys(COUNTS, "minutes"), "share": "fraction of the minutes that were recorded completely"},
        span=span,
        known=span if any(one["recorded"] for one in kinds) else None,
        fresh_until_ms=fresh_until(as_of - minute, minute, span, db.edition),
        source=f"coverage_days, gaps@e{db.edition.edition_id}",
        method="Minutes of whole UTC days that the range touches, by kind of data as the recorder requests it; gaps are"
        " exact to the minute.",
        gaps=[*before, *recorder],
        venue=query.venue,
        warnings=warnings,
        rest="/api/coverage",
        page=f"/coverage?venue={query.venue}" if query.venue else "/coverage",
    )


def _counted(row: dict[str, Any], span: Span) -> dict[str, Any]:
    """The minutes of a kind in the days of the range, and the share that was recorded."""
    inside = [at for at, t in enumerate(row["t"]) if t < span.end]
    counts = {name: sum(row[name][at] or 0 for at in inside) for name in COUNTS}
    return {**counts, "share": _share(counts)}


def _share(counts: dict[str, Any]) -> float | None:
    return counts["recorded"] / counts["minutes"] if counts["minutes"] else None


def _whole(kinds: Iterable[dict[str, Any]]) -> dict[str, Any]:
    counts = {name: sum(one[name] for one in kinds) for name in ("minutes", "recorded")}
    return {**counts, "share": _share(counts)}


def _by_venue(kinds: list[dict[str, Any]]) -> list[dict[str, Any]]:
    listed = []
    for name in dict.fromkeys(one["venue"] for one in kinds):
        own = [one for one in kinds if one["venue"] == name and one["minutes"]]
        worst = min(own, key=lambda one: (one["share"], one["endpoint"]), default=None)
        listed.append(
            {
                "venue": name,
                **_whole(own),
                "worst_kind": worst and worst["endpoint"],
                "worst_share": worst and worst["share"],
            }
        )
    return listed


SHARE = {"minutes": INTEGER, "recorded": INTEGER, "share": NUMBER_OR_NULL}
DATA_COVERAGE = Tool(
    "data_coverage",
    "What was recorded",
    "How completely the market was recorded in a time range: minutes and share by exchange (with venue, by kind of data"
    " too), and the longest gaps with their reasons. Ask before relying on totals or on the absence of something.",
    {
        "venue": string(venue("Only this exchange.")),
        **window(f"Length up to now, at most {MAX_DAYS}d; 1d without it.", "7d"),
    },
    object_of(
        {
            "recorded_since": {**INTEGER_OR_NULL, "description": "First recorded minute."},
            "days": object_of({"start": INTEGER, "end": INTEGER}),
            "summary": object_of(SHARE),
            "venues": array_of(
                object_of({"venue": TEXT, **SHARE, "worst_kind": TEXT_OR_NULL, "worst_share": NUMBER_OR_NULL})
            ),
            "kinds": array_of(
                object_of({"endpoint": TEXT, **dict.fromkeys(COUNTS, INTEGER), "share": NUMBER_OR_NULL}), "With venue."
            ),
            "gaps": array_of(
                object_of(
                    {"start": INTEGER, "end": INTEGER, "venue": TEXT_OR_NULL, "endpoint": TEXT_OR_NULL, "reason": TEXT}
                ),
                f"The {MOST_GAPS} longest, by time. Without venue: the recorder was down.",
            ),
            "gaps_total": INTEGER,
        }
    ),
    resolve,
    answer,
)
