"""GET /api/series/{metric}: the history of one metric, for a coin or a market, as JSON or CSV."""

import time
from typing import Any

from serve.catalog import METRIC_NAMES, Metric
from serve.edition import Reader
from serve.endpoint import endpoint
from serve.errors import BadParameter, Unavailable
from serve.gaps import REASONS, gaps_within
from serve.params import Schema, Values, coin, duration, epoch_ms, market, metric, one_of, venue
from serve.series_query import SeriesQuery, resolve_series
from serve.shape import CSV, Body, json_body

TEXT_OR_NULL = {"type": ["string", "null"]}
GAP: Schema = {
    "type": "object",
    "required": ["start", "end", "venue", "reason"],
    "properties": {
        "start": {"type": "integer"},
        "end": {"type": "integer"},
        "venue": {**TEXT_OR_NULL, "description": "null: the recorder itself was down."},
        "reason": {"enum": list(REASONS)},
    },
}
SCHEMA: Schema = {
    "type": "object",
    "description": "Bucket starts `t` and one array per entry of `fields`, all of the same length; null is unknown.",
    "required": ["end", "fields", "t", "gaps"],
    "properties": {
        "metric": {"type": "string", "description": "Canonical metric name."},
        "base": TEXT_OR_NULL,
        "market": TEXT_OR_NULL,
        "venue": TEXT_OR_NULL,
        "type": TEXT_OR_NULL,
        "step": {"type": "integer", "description": "Bucket width in ms; raised where the asked one is too fine."},
        "start": {"type": "integer", "description": "Start of the range's first bucket, UTC epoch ms."},
        "end": {"type": "integer", "description": "End of the range (exclusive), UTC epoch ms."},
        "source": {"type": "string", "description": "Tier and edition, such as series_1h@e1842."},
        "fields": {"type": "array", "items": {"type": "string"}},
        "t": {"type": "array", "items": {"type": "integer"}},
        "gaps": {"type": "array", "items": GAP, "description": "Unrecorded periods in the range: not zero activity."},
        "db": {"type": "boolean", "description": "false when the database is missing or unreachable."},
        "error": {"const": "unavailable", "description": "Present when the database is unreachable."},
    },
    "additionalProperties": {"type": "array", "items": {"type": ["number", "null"]}},
}


def without_replica(values: Values, outage: Unavailable) -> Body:
    """Empty arrays that say so: nothing can be read, which is not the same as no activity."""
    if values["metric"] not in METRIC_NAMES:
        raise BadParameter("metric", values["metric"], "use one of " + ", ".join(METRIC_NAMES), METRIC_NAMES)
    if values["format"] == "csv":
        return Body(b"# source: unavailable\ntime_utc,unix_ms\n", CSV, degraded=True)
    content: dict[str, Any] = {"metric": values["metric"], "base": values["base"], "market": values["market"]}
    content |= {"venue": values["venue"], "type": values["type"]}
    content |= {"end": values["end"] or int(time.time() * 1000), "fields": [], "t": [], "gaps": [], "db": False}
    return json_body(content if outage.missing else {**content, "error": "unavailable"}, degraded=True)


@endpoint(
    "/api/series/{metric}",
    ttl=15,
    statuses=(200, 400, 404),
    media=("application/json", "text/csv"),
    schema=SCHEMA,
    resolve=resolve_series,
    offline=without_replica,
    params={
        "metric": metric(),
        "base": coin("Coin, in any case. Exactly one of base and market."),
        "market": market("One market. Exactly one of base and market."),
        "range": duration("Length of the range: a number and m, h, d, w or y (1d without it).", "30d"),
        "start": epoch_ms("Start, UTC epoch ms; needs end or range beside it."),
        "end": epoch_ms("End (exclusive), UTC epoch ms; the edition's as_of without it."),
        "step": one_of(
            "Bucket width; raised to stay under 1500 points and within what the tier keeps.",
            *("1m", "5m", "15m", "1h", "4h", "1d", "auto"),
            default="auto",
        ),
        "venue": venue("One exchange; all of them without it."),
        "type": one_of("Kind of market (perp without it).", "perp", "spot", "all"),
        "format": one_of("Form of the response.", "json", "csv", default="json"),
    },
)
def series(query: SeriesQuery, db: Reader) -> Body:
    """History of one metric for a coin or a market: bucket starts, values, and the periods that were not recorded."""
    definition = db.edition.catalog.by_name[query.metric]
    source = f"series_{query.step}@e{db.edition.edition_id}"
    shape = _csv if query.format == "csv" else _json
    return shape(query, db, definition, source)


def _known(definition: Metric) -> str:
    """A row counts where at least one field of the metric was observed."""
    return "(" + " or ".join(f"{column} is not null" for column in definition.fields.values()) + ")"


def _json(query: SeriesQuery, db: Reader, definition: Metric, source: str) -> Body:
    columns = ", ".join(f'{column}::double as "{name}"' for name, column in definition.fields.items())
    found = db.arrays(
        f"select t, {columns} from {query.table} where {query.condition} and {_known(definition)} order by t"
    )
    if not found["t"].size:
        _check_venue(query, db, definition)
    selectors = {"base": None if query.market else query.base, "market": query.market, "venue": query.venue}
    described = {"metric": query.metric, **selectors, "type": query.type, "step": query.step_ms}
    ranged = {"start": query.start, "end": query.end, "source": source, "fields": list(definition.fields)}
    gaps = gaps_within(db, definition, query.type, query.venue, query.span)
    return json_body({**described, **ranged, **found, "gaps": gaps})


def _csv(query: SeriesQuery, db: Reader, definition: Metric, source: str) -> Body:
    cells = ", ".join(
        f"case when isfinite({column}::double) then {column}::double::varchar else '' end"
        for column in definition.fields.values()
    )
    lines = db.value(
        f"""select string_agg(
            concat_ws(',', strftime(make_timestamp(t * 1000), '%Y-%m-%dT%H:%M:%SZ'), t, {cells}) || chr(10),
            '' order by t
        ) from {query.table} where {query.condition} and {_known(definition)}"""
    )
    if lines is None:
        _check_venue(query, db, definition)
    about = f"{query.metric} {query.market or query.base} {query.type} {query.venue or 'all venues'}"
    header = ",".join(["time_utc", "unix_ms", *definition.fields])
    return Body(f"# source: {source} ({about}, {definition.unit})\n{header}\n{lines or ''}".encode(), CSV)


def _check_venue(query: SeriesQuery, db: Reader, definition: Metric) -> None:
    """Nothing found for a venue: if it never has this metric, the question is wrong, and the answer says where.

    A venue that was asked for it in vain has it all the same: it has gaps, and the question gets them.
    """
    if query.venue is None:
        return
    table = f"series_market_{db.edition.tiers[-1].step}"
    kinds = ", ".join(f"'{name}'" for name in definition.endpoints)
    sql = f"""select list(distinct venue order by venue) from (
        select venue from {table} where {_known(definition)}
        union select venue from gaps where venue is not null and endpoint in ({kinds})
    )"""
    having = db.once(("venues", definition.name), lambda: db.value(sql) or [])
    if having and query.venue not in having:
        raise BadParameter("venue", query.venue, f"{definition.name} is recorded on {', '.join(having)}", having)
