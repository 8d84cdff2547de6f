"""GET /api/liquidations: rolling totals, by venue and by coin, the biggest and the newest, hour by hour."""

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Schema, Values
from serve.contract.serialize import Body
from serve.queries.snapshot import INTEGER, NUMBER, NUMBER_OR_NULL, STAMPS, TEXT, array_of, object_of, snapshot_body
from serve.replica.edition import Reader

WINDOWS = ("1h", "4h", "12h", "24h")
SIDES: Schema = {"long": NUMBER_OR_NULL, "short": NUMBER_OR_NULL}
SINCE: Schema = {
    "type": "integer",
    "description": "From here on every feed was recorded without a gap; at the earliest 24 hours before server_ts.",
}
TOTALS: Schema = {
    **object_of(dict.fromkeys(WINDOWS, object_of({**SIDES, "count": {"type": ["integer", "null"]}}))),
    "description": "USD; null where no feed was heard in the window, which is not 0.",
}
BY_VENUE: Schema = {
    "type": "object",
    "description": "24 hours by venue, USD. Some venues publish a sample: their figures are lower bounds.",
    "additionalProperties": object_of({**SIDES, "count": {"type": ["integer", "null"]}}),
}
LIQUIDATION = object_of(
    {
        "ts": INTEGER,
        **dict.fromkeys(("venue", "symbol", "base"), TEXT),
        "side": {"enum": ["long", "short"], "description": "The side that was liquidated."},
        "usd": NUMBER,
        "price": NUMBER,
    }
)
COIN = object_of({"base": TEXT, **dict.fromkeys(WINDOWS, object_of(SIDES))})
SCHEMA = object_of(
    {
        "since": SINCE,
        "totals": TOTALS,
        "by_venue": BY_VENUE,
        "coins": array_of(
            COIN,
            "Every coin that a feed covers, the greatest total of 24 hours first.",
        ),
        "biggest": array_of(LIQUIDATION, "The 20 largest of 24 hours."),
        "recent": array_of(LIQUIDATION, "The newest 50 of 24 hours."),
        "timeline": array_of(object_of({"t": INTEGER, **SIDES}), "24 hours of the clock, USD."),
        **STAMPS,
    }
)
SQL = "select to_json(l)::varchar from (select * exclude (base) from liquidations where base is null) as l"


@endpoint("/api/liquidations", ttl=15, statuses=(200, 400, 503), schema=SCHEMA)
def liquidations(query: Values, db: Reader) -> Body:
    """Liquidations of the last 24 hours: totals, by venue and coin, the biggest, the newest, hour by hour."""
    return snapshot_body(db, SQL)
