"""GET /api/venues: the exchanges, what of them is recorded, and how complete it is."""

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Values
from serve.contract.schemas import BOOLEAN, INTEGER, NUMBER, TEXT, array_of, object_of
from serve.contract.serialize import Body, json_body
from serve.replica.edition import Reader

VENUE = object_of(
    {
        "venue": {**TEXT, "description": "As in selectors and in the names of markets."},
        "name": {**TEXT, "description": "As people write it."},
        "role": {
            "enum": ["coins", "premiums", "options"],
            "description": "coins: its markets count in aggregates; premiums: they serve the premiums and series of "
            "their own; options: only its options are recorded.",
        },
        "perps": {**INTEGER, "description": "Perps that trade."},
        "spots": {**INTEGER, "description": "Spot pairs that trade."},
        "aggregated": {**INTEGER, "description": "Of both, those that aggregates include."},
        "liquidations": {
            "enum": ["full", "sample", "none"],
            "description": "What its public feed has of liquidations.",
        },
        "oi_factor": {**NUMBER, "description": "Its own open interest times this is one side."},
        "taker_side": {**BOOLEAN, "description": "Its bars say what takers bought."},
        "liquidations_note": {**TEXT, "description": "Where that is said."},
        "oi_note": {**TEXT, "description": "Where the sides of its open interest are said."},
    }
)
SQL = "select * from exchanges order by role = 'coins' desc, perps + spots desc, venue"


@endpoint(
    "/api/venues",
    ttl=300,
    statuses=(200, 400, 503),
    schema=object_of({"venues": array_of(VENUE), "source": TEXT, "server_ts": INTEGER}),
    table="venues",
)
def venues(query: Values, db: Reader) -> Body:
    """The exchanges: names, markets, completeness of liquidations, sides of open interest."""
    return json_body(
        {
            "venues": db.rows(SQL),
            "source": f"exchanges@e{db.edition.edition_id}",
            "server_ts": db.edition.as_of_ms,
        }
    )
