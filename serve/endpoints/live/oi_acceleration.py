"""GET /api/open-interest-acceleration: the change of open interest compared with that of the hour before."""

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Values, one_of
from serve.contract.schemas import INTEGER, NUMBER, NUMBER_OR_NULL, TEXT, Schema, array_of, object_of
from serve.contract.serialize import Body, strict_json
from serve.replica.edition import Reader
from serve.replica.units import HOUR_MS, MINUTE_MS

CONTRACT: Schema = dict.fromkeys(("venue", "symbol", "base"), TEXT)
TIMES: Schema = {"type": "array", "items": INTEGER, "minItems": 3, "maxItems": 3}
ROW = object_of(
    {
        **CONTRACT,
        **dict.fromkeys(("previous_fraction", "recent_fraction", "acceleration_pp"), NUMBER),
        **dict.fromkeys(("previous_usd", "recent_usd", "oi_usd"), NUMBER_OR_NULL),
        "anchors_ms": {**TIMES, "description": "When it was observed, at most 5 minutes before each target."},
    }
)
SCHEMA = object_of(
    {
        "schema_version": {"const": 1},
        "evaluated_at_ms": INTEGER,
        "targets_ms": {**TIMES, "description": "Two hours ago, one hour ago, the newest minute."},
        "venues": array_of(TEXT, "Venues whose contracts are compared."),
        "minimum": {"type": "integer", "description": "USD."},
        "rows": array_of(ROW, "By open interest; fractions of coins, independent of prices."),
        "unavailable": array_of(
            object_of({**CONTRACT, "reason": {"enum": ["missing_anchor", "listed_recently", "contract_changed"]}}),
            "Contracts of the same list that cannot be compared.",
        ),
    }
)
SQL = """
with contracts as (select * from oi_acceleration where oi_usd >= $minimum)
select to_json({
    schema_version: 1,
    evaluated_at_ms: $as_of::bigint,
    targets_ms: coalesce((select any_value(targets_ms) from oi_acceleration), $targets::bigint[]),
    venues: (
        select coalesce(list(distinct venue order by venue), []) from market_index where type = 'perp' and not hip3),
    minimum: $minimum::bigint,
    rows: (select coalesce(list(r order by oi_usd desc, market_id), []) from (
        select {venue: venue, symbol: symbol, base: base, previous_fraction: previous_fraction,
            recent_fraction: recent_fraction, acceleration_pp: acceleration_pp, previous_usd: previous_usd,
            recent_usd: recent_usd, oi_usd: oi_usd, anchors_ms: anchors_ms} as r, oi_usd, market_id
        from contracts where reason is null)),
    unavailable: (select coalesce(list({venue: venue, symbol: symbol, base: base, reason: reason}
        order by oi_usd desc, market_id), []) from contracts where reason is not null)
})::varchar
"""


@endpoint(
    "/api/open-interest-acceleration",
    ttl=120,
    statuses=(200, 400, 503),
    schema=SCHEMA,
    table="rows",
    params={
        "min_oi": one_of("Smallest open interest, USD.", "0", "1000000", "10000000", "100000000", default="1000000")
    },
)
def open_interest_acceleration(query: Values, db: Reader) -> Body:
    """Change of open interest over the last hour against the hour before, of the 50 contracts with the highest."""
    last = db.edition.as_of_ms // MINUTE_MS * MINUTE_MS
    args = {
        "minimum": int(query["min_oi"]),
        "as_of": db.edition.as_of_ms,
        "targets": [last - 2 * HOUR_MS, last - HOUR_MS, last],
    }
    return Body(strict_json(db.value(SQL, args).encode()))
