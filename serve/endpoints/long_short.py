"""GET /api/long-short: the newest long fractions of every coin and how they changed."""

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Schema, Values
from serve.contract.serialize import Body
from serve.queries.snapshot import NUMBER_OR_NULL, STAMPS, TEXT, array_of, object_of, snapshot_body
from serve.replica.catalog import VENUES
from serve.replica.edition import Reader

FIRST, SECOND = VENUES[:2]
RATIO = object_of(
    {
        "symbol": TEXT,
        "long": {"type": "number", "minimum": 0, "maximum": 1, "description": "Fraction that is long."},
        "ts": {"type": "integer", "description": "Start of the reading's bucket, UTC epoch ms."},
        **dict.fromkeys(("chg_1h", "chg_4h", "chg_24h"), NUMBER_OR_NULL),
    },
    nullable=True,
)
# Keys as the mart's columns; null where the venue publishes none for the coin.
RATIOS: Schema = dict.fromkeys((f"{FIRST}_accounts", f"{FIRST}_top_pos", f"{SECOND}_accounts"), RATIO)
SQL = """
select to_json({coins: coalesce(list(l order by perp_vol24h desc nulls last, l.base), [])})::varchar
from long_short as l join markets using (base)
"""


@endpoint(
    "/api/long-short",
    ttl=15,
    statuses=(200, 400, 503),
    schema=object_of({"coins": array_of(object_of({"base": TEXT, **RATIOS})), **STAMPS}),
)
def long_short(query: Values, db: Reader) -> Body:
    """Newest long/short ratios of every coin, by 24h perp volume; changes are differences of the long fraction."""
    return snapshot_body(db, SQL)
