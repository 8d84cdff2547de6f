"""GET /api/spikes: the feed of volume spikes, and what the price did after each."""

from serve.contract.endpoint import endpoint
from serve.contract.errors import ApiError, BadParameter, argument_details
from serve.contract.known import known_coin
from serve.contract.parameters import Values, coin, number_of, one_of, venue, window
from serve.contract.schemas import INTEGER, INTEGER_OR_NULL, TEXT, array_of, object_of
from serve.contract.serialize import Body, json_body
from serve.queries.spikes import (
    DEFAULT_WINDOW_MS,
    LONGEST_WINDOW_MS,
    OUTCOME,
    SPIKE,
    FeedQuery,
    read_feed,
    read_outcomes,
)
from serve.queries.time_range import span_of
from serve.replica.edition import Edition, Reader
from serve.replica.units import UNIT_MS

SIGNIFICANCES = ("6", "8", "10", "15", "20")
LIMITS = ("10", "50", "200")
SCHEMA = object_of(
    {
        "start": INTEGER,
        "end": INTEGER,
        "spikes": array_of(object_of({**SPIKE, "outcomes": array_of(OUTCOME)}), "Newest first."),
        "next": {
            **INTEGER_OR_NULL,
            "description": "The value of `after` for the next page; null: this is the last one.",
        },
        "source": TEXT,
    }
)


def resolve(values: Values, edition: Edition, keyed: bool) -> FeedQuery:
    """The canonical query; `after` is of a spike alone, whose time the answer looks up."""
    base = values["base"] and known_coin(edition, values["base"])
    start, end = values["start"], values["end"]
    length = values["range"] or (None if start is not None and end is not None else DEFAULT_WINDOW_MS)
    span = span_of(start, end, length, edition.as_of_ms)
    if span.end - span.start > LONGEST_WINDOW_MS:
        got, most = f"{(span.end - span.start) / UNIT_MS['h']:.6g}h", f"{LONGEST_WINDOW_MS // UNIT_MS['h']}h"
        details = argument_details("range", got, f"at most {most}", most)
        raise ApiError(400, f"range: {got} is too long; the window may have at most {most}", details=details)
    after = None if values["after"] is None else (span.end, values["after"])
    least = None if values["min_sig"] is None else float(values["min_sig"])
    return FeedQuery(*span, base, values["venue"], values["side"], least, int(values["limit"]), after)


@endpoint(
    "/api/spikes",
    ttl=15,
    statuses=(200, 400, 404, 503),
    schema=SCHEMA,
    resolve=resolve,
    table="spikes",
    params={
        **window("Length of the window, at most 24h; 1h without it.", "6h"),
        "base": coin("Only this coin, in any case."),
        "venue": venue("Only this exchange."),
        "side": one_of("Only spikes of this direction.", "buy", "sell"),
        "min_sig": one_of("Only spikes of at least this significance; all have at least 6.", *SIGNIFICANCES),
        "after": number_of("Only spikes after this one in the feed: the `next` of the page before.", "a spike", 1),
        "limit": one_of("Spikes on a page.", *LIMITS, default="50"),
    },
)
def spikes(query: FeedQuery, db: Reader) -> Body:
    """Minutes in which a market traded far more than in its own 24 hours before, newest first, with their outcomes."""
    if query.after:
        known = db.rows("select ts from spikes where id = $id", {"id": query.after[1]})
        if not known:
            raise BadParameter("after", str(query.after[1]), "no spike has this id: use the `next` of the page before")
        query = query._replace(after=(known[0]["ts"], query.after[1]))
    found = read_feed(db, query)
    page = found[: query.limit]
    outcomes = read_outcomes(db, page)
    return json_body(
        {
            "start": query.start,
            "end": query.end,
            "spikes": [{**spike, "outcomes": outcomes[spike["id"]]} for spike in page],
            "next": page[-1]["id"] if len(found) > query.limit else None,
            "source": f"spikes, spike_outcomes@e{db.edition.edition_id}",
        }
    )
