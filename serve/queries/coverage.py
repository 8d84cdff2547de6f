"""Coverage of a series: the markets in each bucket, those that were expected, and the gaps of those that are not in it.

Expected are the markets of the table `expected_markets`: of a state those listed at any moment of the bucket, of a flow
those listed throughout it. A flow has a market in a bucket if all its minutes until now are known.

Positioning, basis and order books are of few markets, which no list names. Their markets are counted when they are
read, in the buckets that have values. Expected are those that ever had one; of order books, whose markets are chosen by
rank, it is not known which.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from serve.queries.as_known import newest_minute_known
from serve.queries.series_query import SeriesQuery
from serve.queries.series_sql import counted_rows, selected_rows
from serve.replica.catalog import Metric
from serve.replica.edition import Reader, literal
from serve.replica.units import MINUTE_MS

Array = np.ndarray[Any, Any]
NEVER = 1 << 62


class Coverage(NamedTuple):
    """Markets in each bucket and expected in it (None: unknown), and the gaps of the venues that miss some."""

    n: Array
    expected: Array | None
    gaps: list[dict[str, Any]]


class Listed(NamedTuple):
    """When the selected markets are expected, one entry a market."""

    venues: Array
    starts: Array
    ends: Array

    def of(self, venue: str) -> "Listed":
        """Those of one venue."""
        own = self.venues == venue
        return Listed(self.venues[own], self.starts[own], self.ends[own])

    def throughout(self, start: int, end: int) -> bool:
        """Whether all are expected all this time, as most are."""
        return bool(self.starts.max(initial=start) <= start and self.ends.min(initial=end) >= end)

    def expected(self, starts: Array, ends: Array, flow: bool) -> Array:
        """How many are expected in each of these buckets, which are in order."""
        if not len(starts) or self.throughout(int(starts[0]), int(ends[-1])):
            return np.full(len(starts), len(self.starts))
        first, last = self.starts[:, None], self.ends[:, None]
        inside = (first <= starts) & (last >= ends) if flow else (first < ends) & (last > starts)
        counts: Array = np.count_nonzero(inside, axis=0)
        return counts


class Expected(NamedTuple):
    """The table `expected_markets` in memory: its columns, one of them for each family, which rows are of each type,
    and where each coin's rows are."""

    columns: dict[str, Array]
    of_type: dict[str, Array]
    coins: dict[str, slice]


def newest_minute(query: SeriesQuery, db: Reader) -> int:
    """Start of the newest recorded minute: the end of the newest minute whose bar may be known."""
    if query.known_at is not None:
        return newest_minute_known(query.known_at, db)
    newest: int = db.once("newest_minute", lambda: db.value("select max(last_ms) from market_index") or 0)
    return newest


def cover(query: SeriesQuery, db: Reader, t: Array, n: Array | None, known: list[dict[str, Any]]) -> Coverage:
    """The coverage of the buckets `t`, of which the tables count `n` markets (None: they have no counts).

    A bucket that lacks a market is a gap of its venue, unless one of the `known` gaps (of the venue, of the recorder)
    lies in it: those are exact to the minute and have a reason.
    """
    metric = db.edition.catalog.by_name[query.metric]
    flow = "{minutes}" in metric.coverage["counted"]
    newest = newest_minute(query, db)
    until = newest if flow else newest + MINUTE_MS
    by_venue: dict[str, Array] = {}
    if n is None:
        buckets = np.asarray(t, np.int64)
        if t.size:
            by_venue = _count_by_venue(query, db, metric, buckets, (int(t[0]), int(t[-1])), newest)
        n = _summed(by_venue, buckets)
        if "family" not in metric.coverage:
            return Coverage(n, None, [])
    else:
        buckets = _buckets(query, db, t, until)
    listed = _listed(query, db, metric)
    n = np.nan_to_num(n) if n.dtype.kind == "f" else n
    at: Array | slice = slice(None)
    if buckets is t:
        counts = n.astype(np.int64)
    else:
        counts, at = np.zeros(len(buckets), np.int64), np.searchsorted(buckets, t)
        counts[at] = n
    whole = not flow and listed.throughout(query.start, query.end)
    if whole and counts.min(initial=NEVER) >= len(listed.starts):  # as most series are
        return Coverage(counts[at], counts[at], [])
    ends = np.minimum(buckets + query.step_ms, until)
    lasting = np.maximum(ends, buckets + 1)
    expected = listed.expected(buckets, lasting, flow)
    # The tables' counts take a bucket that has not ended for an incomplete one.
    is_open = flow & (buckets + query.step_ms > until) & (expected > 0)
    short = (expected > counts) | is_open
    if not short.any():
        return Coverage(counts[at], counts[at], [])
    gaps = []
    if not by_venue:
        by_venue = _short_by_venue(query, db, metric, buckets, counts, short, is_open, newest)
    counts = np.where(short, _summed(by_venue, buckets), counts)
    none = np.zeros(len(buckets), np.int64)
    for venue in np.unique(listed.venues).tolist():
        lacking = short & (listed.of(venue).expected(buckets, lasting, flow) > by_venue.get(venue, none))
        lacking &= ends > buckets
        lacking &= ~_touched(buckets, ends, (gap for gap in known if gap["venue"] in (None, venue)))
        gaps += [
            {"start": start, "end": min(end, query.end), "venue": venue, "reason": "partial"}
            for start, end in _runs(buckets[lacking], ends[lacking])
        ]
    return Coverage(counts[at], np.maximum(expected, counts)[at], gaps)


def expected_venues(query: SeriesQuery, db: Reader) -> list[str]:
    """The venues that have a market which is expected in the range at some time."""
    listed = _listed(query, db, db.edition.catalog.by_name[query.metric])
    within = (listed.starts < query.end) & (listed.ends > query.start)
    return sorted(set(listed.venues[within].tolist()))


def _listed(query: SeriesQuery, db: Reader, metric: Metric) -> Listed:
    every = db.once("expected_markets", lambda: _read_expected(db))
    base = db.edition.markets[query.market].base if query.market else query.base
    own = slice(None) if base is None else every.coins.get(base, slice(0))
    there = every.columns[metric.coverage["family"]][own]
    if query.market:
        there = there & (every.columns["market_id"][own] == query.market)
    elif query.venue:
        there = there & (every.columns["venue"][own] == query.venue)
    if not query.market and metric.types and query.type != "all":
        there = there & every.of_type[query.type][own]
    if "reads" in metric.coverage:
        ever = counted_rows(query, db.edition, metric, f"{metric.coverage['reads']}_{db.edition.day_step}", "true")
        sql = f"select distinct market_id from {ever}"
        markets = db.once(("ever", sql), lambda: [market for (market,) in db.cursor.execute(sql).fetchall()])
        there = there & np.isin(every.columns["market_id"][own], markets)
    return Listed(*(every.columns[name][own][there] for name in ("venue", "from_ms", "to_ms")))


def _read_expected(db: Reader) -> Expected:
    """All expected markets: a query of them for each request took longer than half of the requests' series."""
    families = {
        metric.coverage["family"] for metric in db.edition.catalog.by_name.values() if "family" in metric.coverage
    }
    in_each = ", ".join(f"list_contains(families, {literal(name)}) as {name}" for name in sorted(families))
    rows = db.cursor.execute(
        f"select base, market_id, venue, type, from_ms, coalesce(to_ms, {NEVER}) as to_ms, {in_each} "
        "from expected_markets order by base"
    ).fetchnumpy()
    columns = {name: np.asarray(column) for name, column in rows.items()}
    bases, firsts = np.unique(columns.pop("base"), return_index=True)
    ends = [*firsts[1:].tolist(), len(columns["venue"])]
    of_type = {type_: columns["type"] == type_ for type_ in ("perp", "spot")}
    return Expected(columns, of_type, dict(zip(bases.tolist(), map(slice, firsts.tolist(), ends), strict=True)))


def _buckets(query: SeriesQuery, db: Reader, t: Array, until: int) -> Array:
    """The buckets with values, and all others since the recording began; `t` itself where there are no others."""
    since = db.edition.recorded_since_ms
    first = query.end if since is None else max(query.start, since + (query.start - since) % query.step_ms)
    recorded = np.arange(first, min(query.end, until), query.step_ms, dtype=np.int64)
    return t if np.array_equal(t, recorded) else np.union1d(t, recorded)


def _short_by_venue(
    query: SeriesQuery,
    db: Reader,
    metric: Metric,
    buckets: Array,
    counts: Array,
    short: Array,
    is_open: Array,
    newest: int,
) -> dict[str, Array]:
    """The markets of each venue in the buckets that lack some, of which the open one is counted for all coins at once:
    to count those of one coin takes as long as its series."""
    if query.market:
        return {str(query.venue): counts}  # A market's own row says whether it counts, also in the open bucket.
    at_once = is_open & (query.known_at is None and not query.of_files)
    left = short & ~at_once
    by_venue: dict[str, Array] = {}
    if query.venue and not (left & is_open).any():
        by_venue = {query.venue: np.where(is_open, 0, counts)}
    elif left.any():
        span = int(buckets[left].min()), int(buckets[left].max())
        by_venue = _count_by_venue(query, db, metric, buckets, span, newest)
        by_venue = {venue: np.where(at_once, 0, markets) for venue, markets in by_venue.items()}
    for at in np.flatnonzero(at_once).tolist():
        for kind, venue, markets in _open_ones(query, db, metric, int(buckets[at]), newest).get(query.base, ()):
            if query.type in (kind, "all") and query.venue in (venue, None):
                by_venue.setdefault(venue, np.zeros(len(buckets), np.int64))[at] += markets
    return by_venue


def _open_ones(
    query: SeriesQuery, db: Reader, metric: Metric, start: int, newest: int
) -> dict[str | None, list[tuple[str, str, int]]]:
    """By coin: type, venue and number of the markets that count in the bucket that has not ended."""
    counted = counted_sql(metric, query.step_ms, newest)

    def count() -> dict[str | None, list[tuple[str, str, int]]]:
        table = query.table("series_market")
        sql = f"select base, type, venue, count(*) from {table} where t = {start} and aggregated and ({counted})"
        found: dict[str | None, list[tuple[str, str, int]]] = {}
        for base, *rest in db.cursor.execute(f"{sql} group by all").fetchall():
            found.setdefault(base, []).append(tuple(rest))
        return found

    return db.once(("open", query.step, start, counted), count)


def _count_by_venue(
    query: SeriesQuery, db: Reader, metric: Metric, buckets: Array, span: tuple[int, int], newest: int
) -> dict[str, Array]:
    """The markets of each venue that are in each bucket from the first to the last of the span."""
    within = f"t between {span[0]} and {span[1]}"
    table = query.table(metric.coverage.get("reads", "series_market"))
    if "reads" in metric.coverage:
        rows = counted_rows(query, db.edition, metric, table, within)
    else:
        rows = f"""{table} where {selected_rows(query, db.edition, table)} and {within}
            and ({counted_sql(metric, query.step_ms, newest)})"""
    counts = f"select venue, t, count(*) as n from {rows} group by venue, t"
    sql = f"select venue, list(t) as t, list(n) as n from ({counts}) group by venue"
    found = db.cursor.execute(sql).fetchnumpy()
    each = zip(found["venue"], found["t"], found["n"], strict=True)
    return {venue: _placed(buckets, starts, markets) for venue, starts, markets in each}


def _summed(by_venue: dict[str, Array], buckets: Array) -> Array:
    return sum(by_venue.values(), np.zeros(len(buckets), np.int64))


def counted_sql(metric: Metric, step_ms: int, newest: int) -> str:
    """The condition by which a market's row counts: {minutes} are those of its bucket until now, at least one."""
    minutes = f"greatest(least({step_ms}, {newest} - t) // {MINUTE_MS}, 1)"
    return metric.coverage["counted"].replace("{minutes}", minutes)


def _placed(buckets: Array, starts: Array, counts: Array) -> Array:
    placed = np.zeros(len(buckets), np.int64)
    at = np.searchsorted(buckets, starts)
    there = (at < len(buckets)) & (buckets[np.minimum(at, len(buckets) - 1)] == starts)
    placed[at[there]] = counts[there]
    return placed


def _touched(starts: Array, ends: Array, gaps: Iterable[dict[str, Any]]) -> Array:
    """Which buckets contain a part of one of the gaps."""
    touched = np.zeros(len(starts), bool)
    for gap in gaps:
        touched |= (starts < gap["end"]) & (ends > gap["start"])
    return touched


def _runs(starts: Array, ends: Array) -> list[tuple[int, int]]:
    """Buckets that follow each other as one interval."""
    if not len(starts):
        return []
    new = np.flatnonzero(np.append(True, starts[1:] != ends[:-1]))
    return list(zip(starts[new].tolist(), ends[np.append(new[1:] - 1, len(ends) - 1)].tolist(), strict=True))
