"""GET /api/coverage: how many minutes of each day were recorded, by exchange and kind of data."""

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Values, one_of
from serve.contract.schemas import INTEGER, INTEGER_OR_NULL, TEXT, array_of, object_of
from serve.contract.serialize import Body, json_body
from serve.replica.edition import Reader
from serve.replica.units import DAY_MS

WINDOWS = {"30d": 30, "90d": 90, "365d": 365}
COUNTS = {
    "minutes": "Minutes of the day since the recording of the kind began, up to the newest; null before it began.",
    "recorded": "Of these, minutes with everything that was requested.",
    "partial": "Minutes in which some keys or pages failed, or a stream was connected for a part.",
    "venue_error": "Minutes with responses, but no usable one.",
    "venue_unreachable": "Minutes without a response.",
    "not_recorded": "Minutes without a request: the recorder was down.",
}
ROW = object_of(
    {
        "venue": TEXT,
        "endpoint": {
            **TEXT,
            "description": "Kind of data, as the recorder requests it; for bars, minutes are the bars'.",
        },
        **{name: array_of(INTEGER_OR_NULL, text) for name, text in COUNTS.items()},
    }
)
SQL = f"""
with days as (select unnest(range(greatest($first, min(t)), max(t) + 1, {DAY_MS})) as t from coverage_days),
kinds as (select distinct venue, endpoint from coverage_days where t >= $first)
select kinds.venue, kinds.endpoint, list(days.t order by days.t) as t,
    {", ".join(f"list({name} order by days.t) as {name}" for name in COUNTS)}
from kinds cross join days
left join coverage_days as c on c.venue = kinds.venue and c.endpoint = kinds.endpoint and c.t = days.t
group by kinds.venue, kinds.endpoint order by kinds.venue, kinds.endpoint
"""


@endpoint(
    "/api/coverage",
    ttl=300,
    statuses=(200, 400, 503),
    table="rows",
    schema=object_of(
        {
            "t": array_of(INTEGER, "Starts of the UTC days, epoch ms; the last one is not over."),
            "rows": array_of(ROW, "One for each exchange and kind, with a value for each of `t`."),
            "source": TEXT,
        }
    ),
    params={"window": one_of("How many days, up to now.", *WINDOWS, default="30d")},
)
def coverage(query: Values, db: Reader) -> Body:
    """Minutes of each day that were recorded, completely, in part or not, by exchange and kind of data."""
    now = db.edition.as_of_ms
    rows = db.rows(SQL, {"first": now // DAY_MS * DAY_MS - (WINDOWS[query["window"]] - 1) * DAY_MS})
    return json_body(
        {
            "t": rows[0]["t"] if rows else [],
            "rows": [{name: value for name, value in row.items() if name != "t"} for row in rows],
            "source": f"coverage_days@e{db.edition.edition_id}",
        }
    )
