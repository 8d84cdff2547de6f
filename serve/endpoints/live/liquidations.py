"""GET /api/liquidations: rolling totals, by venue and by coin, the largest, the newest, and by hour."""

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Values
from serve.contract.schemas import INTEGER, array_of, object_of
from serve.contract.serialize import Body
from serve.queries.snapshot import BY_VENUE, COIN, COVERED, LIQUIDATION, SIDES, SINCE, STAMPS, TOTALS, snapshot_body
from serve.replica.edition import Reader

SCHEMA = object_of(
    {
        "since": SINCE,
        **COVERED,
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


@endpoint("/api/liquidations", ttl=15, statuses=(200, 400, 503), schema=SCHEMA, table="coins")
def liquidations(query: Values, db: Reader) -> Body:
    """Liquidations of the last 24 hours: totals, by venue and coin, the largest, the newest, and by hour."""
    return snapshot_body(db, SQL)
