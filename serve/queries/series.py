"""A series for a response: description, values, coverage, and unrecorded periods."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from serve.contract.errors import BadParameter
from serve.contract.schemas import TEXT_OR_NULL, Schema
from serve.queries.as_known import read_as_known
from serve.queries.coverage import Coverage, counted_sql, cover, expected_venues, newest_minute
from serve.queries.file_minutes import is_of_files, read_files
from serve.queries.series_query import SeriesQuery
from serve.queries.series_sql import series_sql, venues_sql
from serve.queries.time_range import aligned, points
from serve.replica.catalog import Metric, Tier
from serve.replica.edition import Reader, filled
from serve.replica.gaps import BEFORE_RECORDING, REASONS, before_recording, gaps_within

# The columns of `coverage=1`: markets in the bucket, markets expected, and where the values come from.
COVERAGE = ("n", "expected", "origin")
# What a coarser step must have more, as a share of the range.
LEAST_GAIN = 0.25
SAME_ORIGIN = "if(min(source) = max(source), min(source), 'mixed')"


GAP: Schema = {
    "type": "object",
    "required": ["start", "end", "venue", "reason"],
    "properties": {
        "start": {"type": "integer"},
        "end": {"type": "integer"},
        "venue": {**TEXT_OR_NULL, "description": "null: the recorder was down, or had not started."},
        "reason": {
            "enum": [*REASONS, BEFORE_RECORDING],
            "description": "partial: a market of the venue is not, or not completely, in the buckets. "
            "before_recording: neither recorded nor in the venues' history.",
        },
    },
}
FIELDS: Schema = {
    "type": "object",
    "description": "Bucket starts `t` and one array per entry of `fields`, all of the same length; null is unknown.",
    "required": ["end", "fields", "t", "gaps"],
    "properties": {
        "metric": {"type": "string", "description": "Canonical metric name."},
        "base": TEXT_OR_NULL,
        "market": TEXT_OR_NULL,
        "venue": TEXT_OR_NULL,
        "type": TEXT_OR_NULL,
        "kind": {"type": "string", "description": "long-short only."},
        "step": {"type": "integer", "description": "Bucket width in ms; raised if the requested one is too fine."},
        "coarsened": {
            "type": "string",
            "description": "With step=auto: a coarser step was taken, because it has a quarter of the range more.",
        },
        "start": {"type": "integer", "description": "Start of the range's first bucket, UTC epoch ms."},
        "end": {"type": "integer", "description": "End of the range (exclusive), UTC epoch ms."},
        "by": {"const": "venue", "description": "With by=venue: the arrays are in `venues`."},
        "source": {
            "type": "string",
            "description": "Tier, edition and, for a metric of certain venues only, those.",
        },
        "fields": {"type": "array", "items": {"type": "string"}},
        "t": {"type": "array", "items": {"type": "integer"}},
        "n": {
            "type": "array",
            "items": {"type": ["integer", "null"]},
            "description": "With coverage=1: markets in each bucket; of a flow those of which every minute is known.",
        },
        "expected": {
            "type": "array",
            "items": {"type": ["integer", "null"]},
            "description": "With coverage=1: markets listed in each bucket whose venue publishes the metric; of "
            "positioning and basis, those that ever had it. null for order books, whose markets are chosen by rank.",
        },
        "origin": {
            "type": "array",
            "items": {"enum": ["recorded", "backfilled", "mixed", None]},
            "description": "With coverage=1: where each bucket's values come from.",
        },
        "venues": {
            "type": "object",
            "description": "With by=venue: exchange → its arrays, each as long as `t`, where it has any value.",
            "additionalProperties": {
                "type": "object",
                "additionalProperties": {"type": "array", "items": {"type": ["number", "string", "null"]}},
            },
        },
        "gaps": {"type": "array", "items": GAP, "description": "Unrecorded periods in the range: not zero activity."},
        "db": {"type": "boolean", "description": "false when the database is missing or unreachable."},
        "error": {"const": "unavailable", "description": "Present when the database is unreachable."},
    },
    "additionalProperties": {"type": "array", "items": {"type": ["number", "null"]}},
}
"""The JSON of a series."""


class Points(NamedTuple):
    """The buckets of a series: its columns, those of its coverage if it was asked for, and its gaps."""

    columns: dict[str, Any]
    coverage: dict[str, Any]
    gaps: list[dict[str, Any]]
    known: Coverage | None


def with_data(query: SeriesQuery, db: Reader) -> SeriesQuery:
    """The request at a coarser step, if the step is free and a coarser one has a quarter of the range more.

    What was fetched of the time before the recording is seldom as fine as what is recorded.
    """
    found, share = query, _share(query, db) if query.coarser else 1.0
    for tier in query.coarser:
        if share > 1 - LEAST_GAIN:
            break
        coarse = at_tier(query, tier, db)
        if (more := _share(coarse, db)) >= share + LEAST_GAIN:
            found, share = coarse, more
    if found is query:
        return as_chosen(query)
    why = f"{query.step} has {_share(query, db):.0%} of the range, {found.step} {share:.0%}"
    return replace(found, coarser=(), coarsened=why)


def as_chosen(query: SeriesQuery) -> SeriesQuery:
    """The request at its step, without how that was chosen."""
    return replace(query, coarser=(), coarsened=None) if query.coarser or query.coarsened else query


def at_tier(query: SeriesQuery, tier: Tier, db: Reader) -> SeriesQuery:
    """The request at a coarser step."""
    start = aligned(query.span, tier.step_ms).start
    metric = db.edition.catalog.by_name[query.metric]
    of_files = query.known_at is None and is_of_files(db.edition, metric, query.base, tier, query.start)
    return replace(query, step=tier.step, step_ms=tier.step_ms, start=start, of_files=of_files)


def _share(query: SeriesQuery, db: Reader) -> float:
    """The share of the range's buckets that have values."""
    if query.end <= query.start:
        return 1.0
    metric = db.edition.catalog.by_name[query.metric]
    prepare(query, db)
    found = _read_buckets(replace(query, by=None), db, metric)
    return min(1.0, len(found["t"]) / points(query.span, query.step_ms))


def prepare(query: SeriesQuery, db: Reader) -> None:
    """Make what the query's views read on the reader's cursor: the asked time, or what files have."""
    if query.known_at is not None:
        read_as_known(query, db, query.known_at)
    elif query.of_files:
        read_files(query, db)


def read_series(query: SeriesQuery, db: Reader) -> dict[str, Any]:
    """The content of a JSON response: the description, `t` and the fields as arrays, and the gaps.

    By venue, the arrays of each venue are as long as the `t` of all.
    """
    if not query.by:
        found = read_points(query, db)
        return {**describe_series(query, db), **found.columns, **found.coverage, "gaps": found.gaps}
    t, venues, gaps = read_venues(query, db)
    return {**describe_series(query, db), "t": t, "venues": venues, "gaps": gaps}


def read_venues(query: SeriesQuery, db: Reader) -> tuple[np.ndarray[Any, Any], dict[str, Any], list[dict[str, Any]]]:
    """The buckets in which any venue has a value, each venue's fields and coverage in them, and the gaps."""
    by_venue = read_by_venue(query, db)
    t = np.unique(np.concatenate([np.zeros(0, np.int64), *(found.columns["t"] for found in by_venue.values())]))
    venues = {venue: placed_at(t, found) for venue, found in by_venue.items() if found.columns["t"].size}
    return t, venues, gaps_of(by_venue)


def placed_at(t: np.ndarray[Any, Any], found: Points) -> dict[str, Any]:
    """The fields and the coverage in the buckets `t`; null in those that the series does not have."""
    own = {**found.columns, **found.coverage}
    starts = own.pop("t")
    if len(starts) == len(t):
        return own
    at = np.searchsorted(t, starts)
    return {name: _spread(values, at, len(t)) for name, values in own.items()}


def _spread(values: Any, at: np.ndarray[Any, Any], length: int) -> Any:
    """An array of numbers, of which NaN becomes null in JSON, or a list of whole numbers and words."""
    numbers = isinstance(values, np.ndarray) and values.dtype.kind == "f"
    spread = np.full(length, np.nan) if numbers else np.full(length, None, object)
    spread[at] = values
    return spread if numbers else spread.tolist()


def gaps_of(by_venue: Mapping[str, Points]) -> list[dict[str, Any]]:
    """The gaps of each venue's series, each once: time before the recording, which has no venue, is that of one whose
    history does not fill it if the history of another does."""
    each: dict[tuple[Any, ...], dict[str, Any]] = {}
    for venue, found in by_venue.items():
        for gap in found.gaps:
            own = gap["reason"] == BEFORE_RECORDING and any(gap not in other.gaps for other in by_venue.values())
            stated = {**gap, "venue": venue} if own else gap
            each[tuple(stated.values())] = stated
    return sorted(each.values(), key=_in_order)


def _in_order(gap: dict[str, Any]) -> tuple[int, int, str]:
    return gap["start"], gap["end"], gap["venue"] or ""


def read_points(query: SeriesQuery, db: Reader) -> Points:
    """The buckets of the series."""
    metric = db.edition.catalog.by_name[query.metric]
    prepare(query, db)
    columns = _read_buckets(query, db, metric)
    if not columns["t"].size:
        check_venue(query, db)
    return _covered(query, db, metric, columns)


def _read_buckets(query: SeriesQuery, db: Reader, metric: Metric) -> dict[str, Any]:
    """What `series_sql` says, of which DuckDB reads the rows alone. Read once for a request: by what a step has, a
    coarser one is chosen."""
    asked = as_chosen(query)
    if asked not in db.read:
        running = any(field.running for field in metric.fields.values())
        sql = series_sql(query, db.edition, _beside(query, db, metric), every_bucket=not running)
        db.read[asked] = db.arrays(sql) if running else _known_buckets(sql, db, metric)
    return dict(db.read[asked])


def _known_buckets(sql: str, db: Reader, metric: Metric) -> dict[str, Any]:
    """The buckets that have a value, by time, of rows in any order."""
    found = db.cursor.execute(sql).fetchnumpy()
    # Where a column lacks no value, DuckDB gives a plain array.
    lacking = [np.ma.getmaskarray(found[name]) for name in metric.fields if isinstance(found[name], np.ma.MaskedArray)]
    every = len(lacking) < len(metric.fields)
    rows: Any = slice(None) if every else ~np.logical_and.reduce(lacking)
    t = np.asarray(found["t"])[rows]
    order: Any = slice(None) if (t[1:] >= t[:-1]).all() else np.argsort(t, kind="stable")
    columns: dict[str, Any] = {name: filled(column[rows])[order] for name, column in found.items()}
    for name in metric.fields:
        columns[name] = np.where(np.isfinite(columns[name]), columns[name], np.nan)
    return columns


def read_by_venue(query: SeriesQuery, db: Reader) -> dict[str, Points]:
    """The buckets of each venue's series, read at once: of the venues that have values, or that should have some."""
    metric = db.edition.catalog.by_name[query.metric]
    prepare(query, db)
    columns: dict[str, Any] = db.arrays(series_sql(query, db.edition, _beside(query, db, metric)))
    owners = columns.pop("venue")
    expected = expected_venues(replace(query, by=None), db) if "family" in metric.coverage else ()
    found = {}
    for venue in sorted({*owners.tolist(), *expected}):
        own = {name: column[owners == venue] for name, column in columns.items()}
        found[venue] = _covered(replace(query, by=None, venue=venue), db, metric, own)
    return found


def _covered(query: SeriesQuery, db: Reader, metric: Metric, columns: dict[str, Any]) -> Points:
    """The buckets with their coverage and gaps; `columns` have what `_beside` adds."""
    t, n, origin = columns["t"], columns.pop("n", None), columns.pop("origin", None)
    gaps = _recorded_gaps(query, db, metric, t)
    # Without a family of expected markets no gaps follow, so the markets are counted only if that is asked.
    known = (
        cover(query, db, t, n, gaps) if "family" in metric.coverage or (metric.coverage and query.coverage) else None
    )
    if known:
        gaps = sorted(gaps + known.gaps, key=_in_order)
    if not query.coverage:
        return Points(columns, {}, gaps, known)
    unknown = [None] * len(t)
    counts = (known.n, unknown if known.expected is None else known.expected) if known else (unknown, unknown)
    listed = unknown if origin is None else origin.tolist()
    return Points(columns, dict(zip(COVERAGE, (*counts, listed), strict=True)), gaps, known)


def describe_series(query: SeriesQuery, db: Reader) -> dict[str, Any]:
    """The fields of a response besides values and gaps, the same in every format."""
    metric = db.edition.catalog.by_name[query.metric]
    apart = f" ({', '.join(metric.venues)})" if metric.venues and query.combined else ""
    # As it was known, a series does not depend on the edition that answers.
    of = f"e{db.edition.edition_id}" if query.known_at is None else str(query.known_at)
    kept_in = "files" if query.of_files else "series" if query.known_at is None else "known"
    source = f"{kept_in}_{query.step}@{of}{apart}"
    selectors: dict[str, str | None] = {
        "base": None if query.market else query.base,
        "market": query.market,
        "venue": query.venue,
    }
    selectors |= {"by": query.by} if query.by else {}
    kind = {"kind": query.kind} if query.kind else {}
    described = {"metric": query.metric, **selectors, "type": query.type, **kind, "step": query.step_ms}
    described |= {"coarsened": query.coarsened} if query.coarsened else {}
    return {**described, "start": query.start, "end": query.end, "source": source, "fields": list(metric.fields)}


def _beside(query: SeriesQuery, db: Reader, metric: Metric) -> dict[str, str]:
    """The columns that the coverage is made of: always the markets, because those that lack are gaps."""
    if not metric.coverage or "reads" in metric.coverage:
        return {}
    stored = f"n_{metric.coverage['family']}"
    if query.market:
        n = f"({counted_sql(metric, query.step_ms, newest_minute(query, db))})::int"
    else:
        n = f"sum({stored})::int" if metric.grouped else stored
    return {"n": n, **({"origin": SAME_ORIGIN if metric.grouped else "source"} if query.coverage else {})}


def _recorded_gaps(query: SeriesQuery, db: Reader, metric: Metric, t: np.ndarray[Any, Any]) -> list[dict[str, Any]]:
    """The unrecorded periods in the range; `t` are the starts of the buckets that have values."""
    # A metric that fixes its type may be made of both perps and spot.
    kind = query.type if metric.types else "all"
    recorded = gaps_within(db, metric, kind, query.venue, query.span, query.kind)
    return before_recording(db, t if metric.history else t[:0], query.step_ms, query.span) + recorded


def check_venue(query: SeriesQuery, db: Reader) -> None:
    """For a series without values: raises BadParameter if the venue never has this metric, naming those that do.

    A venue whose requests for it failed counts as having it: it has gaps, and the response lists them.
    """
    if query.venue is None:
        return
    metric = db.edition.catalog.by_name[query.metric]
    kinds = ", ".join(f"'{name}'" for name in metric.endpoints_of(query.kind)) or "null"
    sql = f"select distinct venue from gaps where venue is not null and endpoint in ({kinds})"

    def find_venues() -> list[str]:
        ever = db.value(venues_sql(metric, query.kind, db.edition.day_step)) or []
        return sorted({*ever, *(row["venue"] for row in db.rows(sql))})

    venues = db.once(("venues", metric.name, query.kind), find_venues)
    if venues and query.venue not in venues:
        name = f"{metric.name} {query.kind}" if query.kind else metric.name
        allowed = f"{name} is recorded on {', '.join(venues)}"
        if query.market:
            raise BadParameter("market", query.market, allowed)
        raise BadParameter("venue", query.venue, allowed, venues)
