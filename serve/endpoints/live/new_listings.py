"""GET /api/new-listings: USDT perps that two exchanges have listed recently."""

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Values, one_of
from serve.contract.schemas import NUMBER_OR_NULL, TEXT, Schema
from serve.contract.serialize import Body, json_body
from serve.replica.edition import Reader
from serve.replica.unavailable import Unavailable
from serve.replica.units import UNIT_MS

LISTING = ("binance", "bybit")
# The greatest age of a live observation, as in the markets snapshot.
MAX_AGE_MS = 5 * UNIT_MS["m"]
FIGURES = ("first_open", "price", "change", "oi_usd", "vol_24h", "funding")
LISTING_ROW: Schema = {
    "type": "object",
    "required": ["venue", "symbol", "base", "listed_ms", "age_days", *FIGURES, "live"],
    "properties": {
        **dict.fromkeys(("venue", "symbol", "base"), TEXT),
        "listed_ms": {"type": "integer"},
        "age_days": {"type": "number"},
        **dict.fromkeys(FIGURES, NUMBER_OR_NULL),
        "live": {"type": "boolean", "description": "It was observed in the last five minutes and is not delisted."},
    },
}
VENUE_NAMES = {"type": "array", "items": {"type": "string"}}
SCHEMA: Schema = {
    "type": "object",
    "required": ["counts", "failed", "missing", "listings"],
    "properties": {
        "counts": {
            "type": "object",
            "additionalProperties": {"type": "integer"},
            "description": "Listings by exchange; an exchange whose list was never read is not there.",
        },
        "failed": {**VENUE_NAMES, "description": "Exchanges whose list could not be read last: an older one counts."},
        "missing": {**VENUE_NAMES, "description": "Exchanges whose list was never read."},
        "listings": {"type": "array", "items": LISTING_ROW},
        "window": {"type": "string"},
        "days": {"type": "integer"},
        "as_of": {"type": "integer"},
        "live_as_of": {"type": ["integer", "null"], "description": "Minute of the newest live figure."},
        "source": {"type": "string"},
    },
}
# An announced market counts from its opening; one that already trades before that has observations.
SQL = """
with listed as (
    select * from listings where venue in (select unnest($venues)) and listed_ms between $since and $now
),
live as (
    select market_id, max(t) as t, max_by(price, t) as price, max_by(oi_usd, t) as oi_usd,
        max_by(vol24h_usd, t) as vol_24h, max_by(funding_8h, t) as funding
    from series_market_1m
    where t >= $fresh and market_id in (select market_id from listed)
    group by market_id having count(coalesce(price, vol24h_usd, funding_8h, oi_usd)) > 0
)
select
    venue, symbol, base, listed_ms, round(($now - listed_ms) / 86400000, 2) as age_days, first_open, price,
    -- The interface has the change since the listing for this exchange alone.
    if(venue = 'binance', price / nullif(first_open, 0) - 1, null) as change, oi_usd, vol_24h, funding,
    live.t is not null and coalesce(delisted_ms > $now, true) as live, live.t as live_ms
from listed left join live using (market_id)
where status is distinct from 'prelaunch' or live.t is not null
order by listed_ms desc, market_id
"""
# A failure lasts until the next request of the list: a current one reaches up to the newest minute.
FAILED_SQL = """
select distinct venue from gaps
where endpoint = 'instruments' and venue in (select unnest($venues)) and end_ms > $now - $now % 60000
    and reason in ('venue_error', 'venue_unreachable')
order by venue
"""


@endpoint(
    "/api/new-listings",
    ttl=30,
    statuses=(200, 400, 503),
    schema=SCHEMA,
    table="listings",
    params={"window": one_of("How far back.", "30d", "90d", default="90d")},
)
def new_listings(query: Values, db: Reader) -> Body:
    """USDT perps listed within the window, newest first, with their figures and change since the listing."""
    now, days = db.edition.as_of_ms, int(query["window"].removesuffix("d"))
    known = db.rows("select distinct venue from listings where venue in (select unnest($1))", [list(LISTING)])
    read = {row["venue"] for row in known}
    if not read:
        raise Unavailable("no list of markets has been read yet", missing=True)
    scope = {"venues": list(LISTING), "now": now}
    fresh = {"fresh": now - now % UNIT_MS["m"] - MAX_AGE_MS, "since": now - days * UNIT_MS["d"]}
    rows = db.rows(SQL, {**scope, **fresh})
    seen = [ms for row in rows if (ms := row.pop("live_ms")) is not None]
    return json_body(
        {
            "window": query["window"],
            "days": days,
            "as_of": now,
            "live_as_of": max(seen, default=None),
            "counts": {venue: sum(row["venue"] == venue for row in rows) for venue in LISTING if venue in read},
            "failed": [row["venue"] for row in db.rows(FAILED_SQL, {**scope, "venues": sorted(read)})],
            "missing": [venue for venue in LISTING if venue not in read],
            "listings": rows,
            "source": f"listings@e{db.edition.edition_id}",
        }
    )
