"""Unrecorded periods as responses list them: merged over what concerns a metric, one reason at a time."""

from typing import Any

from serve.catalog import Metric
from serve.edition import Reader
from serve.timerange import Span

# Most telling first: where two endpoints of a venue failed differently in the same minute, the first one is named.
REASONS = ("recorder_down", "venue_unreachable", "venue_error", "partial")
SQL = """
with concerned as (
    select start_ms, end_ms, venue, reason, list_position($reasons, reason) as severity
    from gaps
    where endpoint is null or (list_contains($endpoints, endpoint) and ($venue is null or venue = $venue))
),
edges as (
    select distinct venue, unnest([start_ms, end_ms]) as edge from concerned
),
cells as (
    select venue, edge as start_ms, lead(edge) over (partition by venue order by edge) as end_ms from edges
),
named as (
    select cells.venue, cells.start_ms, cells.end_ms, arg_min(reason, severity) as reason
    from cells join concerned
        on cells.venue is not distinct from concerned.venue
        and concerned.start_ms < cells.end_ms and concerned.end_ms > cells.start_ms
    group by all
),
islands as (
    select *, sum(apart) over (partition by venue, reason order by start_ms) as island
    from (
        select *, (start_ms is distinct from lag(end_ms) over same_kind)::int as apart
        from named
        window same_kind as (partition by venue, reason order by start_ms)
    )
)
select min(start_ms) as "start", max(end_ms) as "end", venue, reason
from islands group by venue, reason, island order by "start", "end", venue nulls first, reason
"""


def gaps_within(db: Reader, metric: Metric, kind: str, venue: str | None, span: Span) -> list[dict[str, Any]]:
    """The gaps of a metric (of one venue, if given) that touch the range, clipped to it."""
    endpoints = [name for name in metric.endpoints if _concerns(name, kind)]
    arguments = {"reasons": list(REASONS), "endpoints": endpoints, "venue": venue}
    merged = db.once(("gaps", tuple(endpoints), venue), lambda: db.rows(SQL, arguments))
    return [
        {**gap, "start": max(gap["start"], span.start), "end": min(gap["end"], span.end)}
        for gap in merged
        if gap["start"] < span.end and gap["end"] > span.start
    ]


def _concerns(endpoint: str, kind: str) -> bool:
    """Kinds of recording that are named after a market type (perp_bars, spot_tickers) concern that type alone."""
    named_after = endpoint.partition("_")[0]
    return named_after not in ("perp", "spot") or kind in (named_after, "all")
