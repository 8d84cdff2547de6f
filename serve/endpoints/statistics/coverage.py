"""GET /api/coverage: how many minutes of each day were recorded, by exchange and kind of data."""

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Values, one_of
from serve.contract.schemas import INTEGER, INTEGER_OR_NULL, TEXT, array_of, object_of
from serve.contract.serialize import Body, json_body
from serve.queries.figures.recorded import COUNTS, read_days
from serve.replica.edition import Reader
from serve.replica.units import DAY_MS

WINDOWS = {"30d": 30, "90d": 90, "365d": 365}
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
    rows = read_days(db, now // DAY_MS * DAY_MS - (WINDOWS[query["window"]] - 1) * DAY_MS)
    return json_body(
        {
            "t": rows[0]["t"] if rows else [],
            "rows": [{name: value for name, value in row.items() if name != "t"} for row in rows],
            "source": f"coverage_days@e{db.edition.edition_id}",
        }
    )
