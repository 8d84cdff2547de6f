"""Unrecorded periods (gaps) of a metric as responses list them: merged over its recorded endpoints, one reason each."""

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from serve.replica.catalog import Metric
from serve.replica.edition import Reader
from serve.replica.units import UNIT_MS, Span

# By precedence: if endpoints of a venue fail for different reasons in the same minute, the first of these is listed.
REASONS = ("recorder_down", "venue_unreachable", "venue_error", "partial")
# What was neither recorded nor fetched, because the recording had not begun.
BEFORE_RECORDING = "before_recording"
# Gaps are merged once per edition and kind, over the shortest of these lookbacks that contains the range.
LOOKBACKS_MS = (2 * UNIT_MS["d"], 35 * UNIT_MS["d"])
OPEN = "sum(sum(opened) filter (reason = '{}')) over by_time"
# How many gaps of each reason are open at each edge, as running sums: a join of overlaps would be quadratic.
SQL = f"""
with concerned as (
    select start_ms, end_ms, venue, reason from gaps
    where end_ms > $since
        and (endpoint is null or list_contains($endpoints, endpoint) and coalesce(list_contains($venues, venue), true))
),
edges as (
    select venue, start_ms as t, reason, 1 as opened from concerned
    union all
    select venue, end_ms, reason, -1 from concerned
),
cells as (
    select venue, t as start_ms, lead(t) over by_time as end_ms,
        case {" ".join(f"when {OPEN.format(reason)} > 0 then '{reason}'" for reason in REASONS)} end as reason
    from edges group by venue, t
    window by_time as (partition by venue order by t)
),
runs as (
    select *, sum(changed) over (partition by venue order by start_ms) as run
    from (
        select *, (reason is distinct from lag(reason) over (partition by venue order by start_ms))::int as changed
        from cells
    )
)
select min(start_ms) as "start", max(end_ms) as "end", venue, reason
from runs where reason is not null
group by venue, reason, run order by "start", "end", venue nulls first
"""


class Merged(NamedTuple):
    """All gaps of a kind by start; `reach` is the latest end of the gaps up to each one."""

    gaps: list[dict[str, Any]]
    starts: list[int]
    reach: list[int]


def gaps_within(
    db: Reader, metric: Metric, type_: str, venue: str | None, span: Span, kind: str | None = None
) -> list[dict[str, Any]]:
    """The gaps of a metric (of a kind; of one venue or of all that are summed) in the range, clipped to it."""
    now = db.edition.as_of_ms
    since = next((now - lookback for lookback in LOOKBACKS_MS if now - lookback <= span.start), 0)
    merged = db.once(
        ("gaps", metric.name, kind, type_, venue, since), lambda: _of(db, metric, kind, type_, venue, since)
    )
    first, last = bisect_right(merged.reach, span.start), bisect_left(merged.starts, span.end)
    return [
        {**gap, "start": max(gap["start"], span.start), "end": min(gap["end"], span.end)}
        for gap in merged.gaps[first:last]
        if gap["end"] > span.start
    ]


def before_recording(db: Reader, t: np.ndarray[Any, Any], step_ms: int, span: Span) -> list[dict[str, Any]]:
    """The time before the recording began that no bucket of `t` (starts, ascending) covers.

    Buckets before it come from the venues' own history. A metric without history passes no buckets: the bucket in which
    the recording began is incomplete. All these gaps precede those of `gaps_within`.
    """
    since = db.edition.recorded_since_ms
    end = min(span.end, db.edition.as_of_ms if since is None else since)
    if end <= span.start:
        return []
    known = t[t < end]
    starts, ends = np.append(span.start, known + step_ms), np.append(known, end)
    holes = starts < ends
    return [
        {"start": start, "end": until, "venue": None, "reason": BEFORE_RECORDING}
        for start, until in zip(starts[holes].tolist(), ends[holes].tolist(), strict=True)
    ]


def gaps_of(db: Reader, endpoint: str, venues: tuple[str, ...], span: Span) -> list[dict[str, Any]]:
    """The gaps of one recorded endpoint on some venues, and those of the recorder itself, clipped to the range."""
    sql = """
        select greatest(start_ms, $start) as "start", least(end_ms, $end) as "end", venue, reason from gaps
        where end_ms > $start and start_ms < $end
            and (endpoint is null or (endpoint = $endpoint and list_contains($venues, venue)))
        order by "start", "end", venue nulls first
    """
    return db.rows(sql, {"start": span.start, "end": span.end, "endpoint": endpoint, "venues": list(venues)})


def _of(db: Reader, metric: Metric, kind: str | None, type_: str, venue: str | None, since: int) -> Merged:
    """The same for all metrics that are made of the same endpoints."""
    made_of = (*metric.endpoints_of(kind), *metric.shared_endpoints)
    endpoints = tuple(name for name in made_of if _concerns(name, type_))
    venues = (venue,) if venue else metric.venues
    return db.once(("gaps", endpoints, venues, since), lambda: _merge(db, endpoints, venues, since))


def _merge(db: Reader, endpoints: tuple[str, ...], venues: tuple[str, ...], since: int) -> Merged:
    gaps = db.rows(SQL, {"endpoints": list(endpoints), "venues": list(venues) or None, "since": since})
    return Merged(gaps, [gap["start"] for gap in gaps], list(accumulate((gap["end"] for gap in gaps), max)))


def _concerns(endpoint: str, kind: str) -> bool:
    """Endpoints that are named after a market type (perp_bars, spot_tickers) concern only that type."""
    named_after = endpoint.partition("_")[0]
    return named_after not in ("perp", "spot") or kind in (named_after, "all")
