"""GET /api/gaps: which minutes were not recorded, or not completely, by exchange and kind of data."""

from serve.contract.endpoint import endpoint
from serve.contract.parameters import venue, window
from serve.contract.schemas import INTEGER, INTEGER_OR_NULL, TEXT, TEXT_OR_NULL, array_of, object_of
from serve.contract.serialize import Body, json_body
from serve.queries.figures.recorded import MAX_DAYS, GapsQuery, read_gaps, resolve_gaps
from serve.replica.edition import Reader
from serve.replica.gaps import REASONS

# More than there are kinds of data of all exchanges, which may all begin in one minute.
MAX_ROWS = 10_000
SCHEMA = object_of(
    {
        **dict.fromkeys(("start", "end"), INTEGER),
        "recorded_since": {**INTEGER_OR_NULL, "description": "First recorded minute, UTC epoch ms; null before it."},
        "rows": array_of(
            object_of(
                {
                    "start": {**INTEGER, "description": "First minute in the range, UTC epoch ms."},
                    "end": {**INTEGER, "description": "End in the range (exclusive), UTC epoch ms."},
                    "venue": {**TEXT_OR_NULL, "description": "null: the recorder was down, of every exchange."},
                    "endpoint": {**TEXT_OR_NULL, "description": "Kind of data; null: all."},
                    "reason": {"enum": list(REASONS)},
                }
            ),
            "The earliest first.",
        ),
        "next": {
            **INTEGER_OR_NULL,
            "description": f"The `start` of the request for the rest, after {MAX_ROWS:,} periods; null: these are all.",
        },
        "source": TEXT,
    }
)


@endpoint(
    "/api/gaps",
    ttl=30,
    statuses=(200, 400, 503),
    schema=SCHEMA,
    resolve=resolve_gaps,
    table="rows",
    params={
        "venue": venue("One exchange, and when the recorder was down; all of them without it."),
        **window(f"Length of the range, at most {MAX_DAYS}d; 1d without it.", "7d"),
    },
)
def gaps(query: GapsQuery, db: Reader) -> Body:
    """Periods that were not recorded, or not completely, exact to the minute, by exchange and kind of data."""
    rows = read_gaps(db, query.span, query.venue, MAX_ROWS + 1)
    rest = rows[MAX_ROWS]["start"] if len(rows) > MAX_ROWS else None
    return json_body(
        {
            **query.span._asdict(),
            "recorded_since": db.edition.recorded_since_ms,
            "rows": [row for row in rows[:MAX_ROWS] if rest is None or row["start"] < rest],
            "next": rest,
            "source": f"gaps@e{db.edition.edition_id}",
        }
    )
