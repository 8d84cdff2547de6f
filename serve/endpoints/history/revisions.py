"""GET /api/revisions: the buckets of a series whose values have changed since a time, as they were then and as they
are now."""

from typing import Any

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Values, epoch_ms, metric, step
from serve.contract.schemas import INTEGER, NUMBER_OR_NULL, TEXT, TEXT_OR_NULL, Schema, array_of, object_of
from serve.contract.serialize import Body, json_body
from serve.queries.as_known import names_known_later, read_as_known, steps_known_later
from serve.queries.series import describe_series
from serve.queries.series_query import AUTO, SELECTION, SeriesQuery, resolve_series
from serve.queries.series_sql import selected_rows, series_sql
from serve.replica.edition import Edition, Reader

ARRAYS: Schema = {"type": "object", "additionalProperties": array_of(NUMBER_OR_NULL)}
SCHEMA = object_of(
    {
        "metric": {**TEXT, "description": "Canonical metric name."},
        "base": TEXT_OR_NULL,
        "market": TEXT_OR_NULL,
        "venue": TEXT_OR_NULL,
        "type": TEXT_OR_NULL,
        "step": {**INTEGER, "description": "Bucket width in ms."},
        "start": {**INTEGER, "description": "Start of the range's first bucket, UTC epoch ms."},
        "end": {**INTEGER, "description": "End of the range (exclusive), UTC epoch ms: at most since."},
        "since": {**INTEGER, "description": "The time whose values are compared with those of now."},
        "as_of": {**INTEGER, "description": "Time of the newest data: now."},
        "source": TEXT,
        "fields": array_of(TEXT),
        "t": array_of(INTEGER, "Starts of the buckets that have changed, or had not ended at since."),
        "changed_ms": array_of(
            {"type": ["integer", "null"]},
            "For each, the as_of of the edition with the newest value of one of its markets; null: only in which "
            "markets are included.",
        ),
        "then": {**ARRAYS, "description": "By field, the values that were served at since; null is unknown."},
        "now": {**ARRAYS, "description": "By field, the values of now."},
    }
)
# Sums of the same numbers in another order are the same.
SAME = '(a."{0}" is not distinct from b."{0}" or abs(a."{0}" - b."{0}") <= 1e-9 * greatest(abs(a."{0}"), abs(b."{0}")))'


def resolve(values: Values, edition: Edition, keyed: bool) -> SeriesQuery:
    """The series as it was known at `since`."""
    others = {"kind": None, "coverage": "0", "format": "json"}
    return resolve_series({**values, **others}, edition, keyed)


@endpoint(
    "/api/revisions",
    ttl=60,
    budget="series",
    statuses=(200, 400, 404, 503),
    schema=SCHEMA,
    resolve=resolve,
    params={
        "metric": metric(names_known_later),
        "since": epoch_ms("Time to compare with, UTC epoch ms, within the horizon of 7 days.", required=True),
        **SELECTION,
        "step": step("Bucket width.", AUTO, default=AUTO, served=steps_known_later),
    },
)
def revisions(query: SeriesQuery, db: Reader) -> Body:
    """Buckets of a series whose values have changed since a time: what was served then, what is now, and when it
    changed."""
    now, since = db.edition.as_of_ms, query.known_at
    assert since is not None
    described = describe_series(query, db)
    read_as_known(query, db, since)
    rows = series_sql(query, db.edition)
    db.altered().register("served_then", db.table(rows))
    read_as_known(query, db, now)
    fields = described["fields"]
    found = db.arrays(
        f"""
        with changes as (
            select t - t % {query.step_ms} as t, max(known) as changed_ms
            from (
                select t, greatest(known_ms, bar_known_ms, earlier[-1].until_ms) as known
                from series_market_1m where {_within(query, db, "series_market_1m")}
                union all
                select t, greatest(known_ms, earlier[-1].until_ms)
                from series_market_1h where {_within(query, db, "series_market_1h")} and known_ms is not null
            )
            where known > {since} group by 1
        )
        select coalesce(a.t, b.t) as t, changed_ms,
            {", ".join(f'a."{name}" as "then_{name}", b."{name}" as "now_{name}"' for name in fields)}
        from served_then as a full join ({rows}) as b using (t) left join changes using (t)
        where not coalesce({" and ".join(SAME.format(name) for name in fields)}, false)
        order by t
        """
    )
    content: dict[str, Any] = {**described, "source": f"{described['source']}..e{db.edition.edition_id}"}
    content |= {"since": since, "as_of": now, "t": found["t"]}
    content["changed_ms"] = [None if at != at else int(at) for at in found["changed_ms"].tolist()]
    content |= {side: {name: found[f"{side}_{name}"] for name in fields} for side in ("then", "now")}
    return json_body(content)


def _within(query: SeriesQuery, db: Reader, table: str) -> str:
    return f"{selected_rows(query, db.edition, table)} and t >= {query.start} and t < {query.end}"
