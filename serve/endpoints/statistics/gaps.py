"""GET /api/gaps: which minutes were not recorded, or not completely, by exchange and kind of data."""

from typing import Any, NamedTuple

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Values, venue, window
from serve.contract.schemas import INTEGER, INTEGER_OR_NULL, TEXT, TEXT_OR_NULL, array_of, object_of
from serve.contract.serialize import Body, json_body
from serve.queries.time_range import check_length, span_of
from serve.replica.edition import Edition, Reader
from serve.replica.gaps import REASONS
from serve.replica.units import Span

MAX_DAYS = 31
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
SQL = f"""
select greatest(start_ms, $start) as "start", least(end_ms, $end) as "end", venue, endpoint, reason
from gaps
where end_ms > $start and start_ms < $end and (venue is null or coalesce(venue = $venue, true))
order by "start", "end", venue nulls first, endpoint
limit {MAX_ROWS + 1}
"""


class GapsQuery(NamedTuple):
    """The canonical query of a range."""

    venue: str | None
    span: Span


def resolve(values: Values, edition: Edition, keyed: bool) -> GapsQuery:
    """The canonical query; raises the 400 of a range that is too long."""
    span = span_of(values["start"], values["end"], values["range"], edition.as_of_ms)
    check_length(span, values["range"], MAX_DAYS, MAX_DAYS, keyed)
    return GapsQuery(values["venue"], span)


@endpoint(
    "/api/gaps",
    ttl=30,
    statuses=(200, 400, 503),
    schema=SCHEMA,
    resolve=resolve,
    table="rows",
    params={
        "venue": venue("One exchange, and when the recorder was down; all of them without it."),
        **window(f"Length of the range, at most {MAX_DAYS}d; 1d without it.", "7d"),
    },
)
def gaps(query: GapsQuery, db: Reader) -> Body:
    """Periods that were not recorded, or not completely, exact to the minute, by exchange and kind of data."""
    rows: list[dict[str, Any]] = db.rows(SQL, {**query.span._asdict(), "venue": query.venue})
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
