"""GET /api/series/{metric}: the history of one metric, for a coin or a market, as JSON, CSV, Parquet or Arrow,
or as the SQL that reads it from the replica."""

import time
from dataclasses import replace
from typing import Any

import pyarrow as pa

from serve.contract.endpoint import endpoint
from serve.contract.errors import BadParameter
from serve.contract.parameters import Values, kind, metric, one_of, step, word_of
from serve.contract.schemas import Schema
from serve.contract.serialize import ARROW, CSV, PARQUET, PLAIN, Body, arrow_body, json_body, parquet_body
from serve.queries.as_known import variables
from serve.queries.series import (
    COVERAGE,
    FIELDS,
    Points,
    check_venue,
    describe_series,
    gaps_of,
    prepare,
    read_by_venue,
    read_points,
    read_series,
    with_data,
)
from serve.queries.series_query import AS_KNOWN_AT, AUTO, KNOWN_TTL_S, SELECTION, SeriesQuery, resolve_series
from serve.queries.series_sql import series_sql
from serve.replica.catalog import Catalog
from serve.replica.edition import Reader
from serve.replica.unavailable import Fallback, Unavailable


def schema(catalog: Catalog) -> Schema:
    """The response, with the edition's kinds of metrics."""
    properties = FIELDS["properties"]
    return {**FIELDS, "properties": {**properties, "kind": {**properties["kind"], **word_of(catalog.kinds)}}}


def without_replica(values: Values, outage: Unavailable, fallback: Fallback) -> Body:
    """Empty arrays, marked as unavailable: unreadable data is not zero activity."""
    catalog = fallback.catalog
    # The steps are in an edition only; without a catalog nothing is known that could be refused.
    steps = (*catalog.steps, AUTO) if catalog.steps else ()
    for name, known in (("metric", catalog.names), ("kind", catalog.kinds), ("step", steps)):
        if known and values[name] is not None and values[name] not in known:
            raise BadParameter(name, values[name], "use one of " + ", ".join(known), known)
    if values["format"] == "csv":
        return Body(b"# source: unavailable\ntime_utc,unix_ms\n", CSV, degraded=True)
    if values["format"] == "sql":
        return Body(b"-- source: unavailable\n", PLAIN, degraded=True)
    if values["format"] in ("parquet", "arrow"):
        empty = pa.table({"t": pa.array([], pa.int64())})
        metadata: dict[str, Any] = {"db": False} if outage.missing else {"db": False, "error": "unavailable"}
        make_body = parquet_body if values["format"] == "parquet" else arrow_body
        return replace(make_body(empty, metadata), degraded=True)
    # Without `metric`: aliases are resolved by the replica.
    content: dict[str, Any] = {"base": values["base"] and values["base"].upper(), "market": values["market"]}
    content |= {"venue": values["venue"], "type": values["type"]}
    end = int(time.time() * 1000) if values["end"] is None else values["end"]
    content |= {"end": end, "fields": [], "t": [], "gaps": [], "db": False}
    content |= {"by": values["by"], "venues": {}} if values["by"] else {}
    return json_body(content if outage.missing else {**content, "error": "unavailable"}, degraded=True)


@endpoint(
    "/api/series/{metric}",
    ttl=15,
    budget="series",
    statuses=(200, 400, 404),
    media=("application/json", "text/csv", "text/plain", PARQUET, ARROW),
    schema=schema,
    resolve=resolve_series,
    offline=without_replica,
    params={
        "metric": metric(),
        **SELECTION,
        "step": step(
            "Bucket width; raised to stay under 1500 points (6000 with a key) and within what the tier keeps.",
            AUTO,
            default=AUTO,
        ),
        "kind": kind(
            "Share of what: all accounts (without it), the top traders' accounts or positions, or what takers traded; "
            "long-short only."
        ),
        "by": one_of("venue: the series of each exchange, in one response, instead of one of all.", "venue"),
        "coverage": one_of(
            "1 adds how many markets are in each bucket and how many were expected.", "0", "1", default="0"
        ),
        "as_known_at": AS_KNOWN_AT,
        "format": one_of(
            "Form of the response; sql is the statement that reads it from the replica, for DuckDB.",
            *("json", "csv", "parquet", "arrow", "sql"),
            default="json",
        ),
    },
)
def series(query: SeriesQuery, db: Reader) -> Body:
    """History of one metric for a coin or a market: bucket starts, values, and the periods that were not recorded."""
    query = with_data(query, db)
    link = f'</api/methodology/{query.metric}>; rel="describedby"'
    ttl = None if query.known_at is None else KNOWN_TTL_S
    if query.format == "json":
        return json_body(read_series(query, db), ttl=ttl, link=link)
    return replace({"csv": _csv, "sql": _sql}.get(query.format, _table)(query, db), ttl=ttl, link=link)


def _csv(query: SeriesQuery, db: Reader) -> Body:
    metric = db.edition.catalog.by_name[query.metric]
    prepare(query, db)
    names = [*([query.by] if query.by else []), *metric.fields, *(COVERAGE if query.coverage else ())]
    rows = f"({series_sql(query, db.edition)})"
    if query.coverage:
        db.altered().register("covered", _points_table(query, db)[0])
        rows = "covered"
    cells = ", ".join(f"""coalesce("{name}"::varchar, '')""" for name in names)
    lines = db.value(
        f"""select string_agg(
            concat_ws(',', strftime(make_timestamp(t * 1000), '%Y-%m-%dT%H:%M:%SZ'), t, {cells}) || chr(10),
            '' order by {"t, venue" if query.by else "t"}
        ) from {rows}"""
    )
    if lines is None:
        check_venue(query, db)
    venues = query.venue or ("each venue" if query.by else ", ".join(metric.venues) or "all venues")
    kind = f" {query.kind}" if query.kind else ""
    selected = f"{query.market or query.base or 'all coins'} {query.type}{kind} {venues}"
    source = describe_series(query, db)["source"]
    header = ",".join(["time_utc", "unix_ms", *names])
    coarsened = f"; {query.coarsened}" if query.coarsened else ""
    comment = f"# source: {source} ({query.metric} {selected}, {metric.unit}{coarsened})"
    return Body(f"{comment}\n{header}\n{lines or ''}".encode(), CSV)


def _sql(query: SeriesQuery, db: Reader) -> Body:
    if query.of_files:
        raise BadParameter("format", "sql", "the range is older than the replica: its minutes are read from files")
    known = "" if query.known_at is None else f"{variables(query, query.known_at)};\n"
    source = describe_series(query, db)["source"]
    about = f"-- {source}: {query.metric}, {db.edition.catalog.by_name[query.metric].unit}"
    return Body(
        f"{about}. Run it on {db.edition.path.name}.\n{known}{series_sql(query, db.edition)};\n".encode(), PLAIN
    )


def _table(query: SeriesQuery, db: Reader) -> Body:
    """Parquet or Arrow; what JSON has beside the arrays is in the schema's metadata."""
    table, gaps = _points_table(query, db)
    metadata = {**describe_series(query, db), "gaps": gaps}
    return (parquet_body if query.format == "parquet" else arrow_body)(table, metadata)


def _points_table(query: SeriesQuery, db: Reader) -> tuple[pa.Table, list[dict[str, Any]]]:
    """The arrays as columns, and the gaps. By venue, a row is a bucket of one venue, the column `venue` beside `t`."""
    if not query.by:
        found = read_points(query, db)
        return _columns(found), found.gaps
    by_venue = read_by_venue(query, db)
    fields = db.edition.catalog.by_name[query.metric].fields
    none = pa.table(
        {"t": pa.array([], pa.int64()), "venue": pa.array([], pa.string())}
        | dict.fromkeys(fields, pa.array([], pa.float64()))
    )
    tables = [
        _columns(found).add_column(1, "venue", pa.array([venue] * len(found.columns["t"]), pa.string()))
        for venue, found in by_venue.items()
    ]
    rows = pa.concat_tables([none, *tables], promote_options="default")
    return rows.sort_by([("t", "ascending"), ("venue", "ascending")]), gaps_of(by_venue)


def _columns(found: Points) -> pa.Table:
    table = pa.table({name: pa.array(values, from_pandas=True) for name, values in found.columns.items()})
    for name, type_ in zip(COVERAGE, (pa.int64(), pa.int64(), pa.string()), strict=True):
        if name in found.coverage:
            table = table.append_column(name, pa.array(found.coverage[name], type_))
    return table
