"""GET /api/markets: every tracked coin with its markets, as the mart holds it."""

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Values
from serve.contract.schemas import NUMBER_OR_NULL, Schema, array_of, object_of
from serve.contract.serialize import Body
from serve.queries.snapshot import COIN_NUMBERS, ENTRY, STAMPS, snapshot_body
from serve.replica.edition import Reader

COIN: Schema = {
    "type": "object",
    "required": [
        "base", "markets", "expected",
        "perp_vol24h", "spot_vol24h", "oi_usd", "funding_avg", "venues", "perps", "spots", "hip3", "cat",
    ],
    "properties": {
        "base": {"type": "string"},
        "markets": {"type": "integer", "description": "Markets in the sums."},
        "expected": {"type": "integer", "description": "Markets that should be in them."},
        "venues": {"type": "array", "items": {"type": "string"}},
        "perps": {"type": "array", "items": ENTRY},
        "spots": {"type": "array", "items": ENTRY},
        "hip3": {"type": "boolean"},
        "cat": {"type": "array", "items": {"type": "string"}},
        **dict.fromkeys(COIN_NUMBERS, NUMBER_OR_NULL),
    },
}  # fmt: skip
# The mart's columns are the JSON fields: a new column is served without a change here. Concatenated as text, in a third
# of the time of a list of all coins.
SQL = """
select '{"coins":[' || coalesce(string_agg(to_json(m)::varchar, ',' order by perp_vol24h desc nulls last, base), '')
    || ']}' from markets as m
"""


@endpoint(
    "/api/markets",
    ttl=15,
    statuses=(200, 400, 503),
    schema=object_of({"coins": array_of(COIN), **STAMPS}),
    table="coins",
)
def markets(query: Values, db: Reader) -> Body:
    """Full snapshot of every tracked coin and its markets, by 24h perp volume."""
    return snapshot_body(db, SQL)
