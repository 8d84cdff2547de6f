"""GET /api/perp-dex-ranking: decentralized perp exchanges by open interest."""

import time
from typing import Any

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Values
from serve.contract.schemas import NUMBER_OR_NULL, Schema
from serve.contract.serialize import Body, json_body
from serve.replica.edition import Reader
from serve.replica.unavailable import Unavailable

RANKED = {"hyperliquid": "Hyperliquid", "aster": "Aster", "lighter": "Lighter"}
# An older value is stale, and after a day missing. A recording younger than LIVE_S is loading.
LIVE_S, STALE_S = 300, 86_400
VENUE: Schema = {
    "type": "object",
    "required": [
        "rank", "venue", "name", "status", "age_s", "oi_usd", "vol24h_usd", "oi_share", "vol_share", "oi_partial",
    ],
    "properties": {
        "rank": {"type": ["integer", "null"], "description": "By open interest; null without figures."},
        "venue": {"type": "string"},
        "name": {"type": "string"},
        "status": {"enum": ["live", "stale", "loading", "missing"]},
        **dict.fromkeys(("age_s", "oi_usd", "vol24h_usd", "oi_share", "vol_share"), NUMBER_OR_NULL),
        "oi_partial": {"type": ["boolean", "null"], "description": "Its OI covers only its most-traded markets."},
        "n_markets": {"type": ["integer", "null"]},
        "markets": {"type": ["integer", "null"], "description": "Perps in the sums, as n_markets."},
        "expected": {"type": ["integer", "null"], "description": "Perps that should be in the sums."},
    },
}  # fmt: skip
SCHEMA: Schema = {
    "type": "object",
    "required": ["venues"],
    "properties": {
        "venues": {"type": "array", "items": VENUE},
        "as_of": {"type": "integer", "description": "The edition's as_of, UTC epoch ms."},
        "total_oi_usd": NUMBER_OR_NULL,
        "total_vol24h_usd": NUMBER_OR_NULL,
        "n_live": {"type": "integer"},
        "n_venues": {"type": "integer"},
        "n_markets": {"type": "integer"},
        "source": {"type": "string"},
    },
}
# Shares are of the venues with figures; one without is last.
SQL = """
with listed as (select unnest($ranked) as venue, unnest($names) as title),
known as (
    select venue, coalesce(name, title) as name, observed_ms,
        if(observed_ms > $since, oi_usd, null) as oi_usd, if(observed_ms > $since, vol24h_usd, null) as vol24h_usd,
        if(observed_ms > $since, oi_partial, null) as oi_partial, if(observed_ms > $since, n_markets, null) as n_markets
    from listed left join venue_totals using (venue)
),
expected as (
    select venue, count(*) as markets from expected_markets
    where type = 'perp' and from_ms <= $as_of and coalesce(to_ms > $as_of, true) group by venue
)
select
    if(oi_usd is null, null, row_number() over (order by oi_usd desc nulls last, venue)) as rank, venue, name,
    observed_ms, oi_usd, vol24h_usd, oi_usd / nullif(sum(oi_usd) over (), 0) as oi_share,
    vol24h_usd / nullif(sum(vol24h_usd) over (), 0) as vol_share, oi_partial, n_markets,
    n_markets as markets, if(n_markets is null, null, greatest(n_markets, expected.markets)) as expected
from known left join expected using (venue) order by oi_usd desc nulls last, vol24h_usd desc nulls last, venue
"""


# Not cached: ages depend on the clock.
@endpoint("/api/perp-dex-ranking", ttl=None, statuses=(200, 400, 503), schema=SCHEMA, table="venues")
def perp_dex_ranking(query: Values, db: Reader) -> Body:
    """Decentralized perp exchanges by open interest, with their shares of open interest and volume."""
    now_ms = time.time_ns() // 1_000_000
    times = {"since": now_ms - STALE_S * 1000, "as_of": db.edition.as_of_ms}
    rows = db.rows(SQL, {"ranked": list(RANKED), "names": list(RANKED.values()), **times})
    if not any(row["observed_ms"] for row in rows):
        raise Unavailable("none of these exchanges has been observed yet", missing=True)
    venues = [_with_status(row, now_ms, db.edition.recorded_since_ms, db.edition.as_of_ms) for row in rows]
    return json_body(
        {
            "venues": venues,
            "as_of": db.edition.as_of_ms,
            "total_oi_usd": _sum(rows, "oi_usd"),
            "total_vol24h_usd": _sum(rows, "vol24h_usd"),
            "n_live": sum(venue["status"] == "live" for venue in venues),
            "n_venues": len(venues),
            "n_markets": sum(row["n_markets"] or 0 for row in rows),
            "source": f"venue_totals@e{db.edition.edition_id}",
        }
    )


def _with_status(row: dict[str, Any], now_ms: int, since_ms: int | None, as_of_ms: int) -> dict[str, Any]:
    observed_ms = row.pop("observed_ms")
    if row["n_markets"] is None:
        young = observed_ms is None and as_of_ms - (since_ms or as_of_ms) < LIVE_S * 1000
        return row | {"status": "loading" if young else "missing", "age_s": None}
    age_s = max(0, now_ms - observed_ms) / 1000
    return row | {"status": "live" if age_s <= LIVE_S else "stale", "age_s": round(age_s, 3)}


def _sum(rows: list[dict[str, Any]], column: str) -> float | None:
    known = [row[column] for row in rows if row[column] is not None]
    return sum(known) if known else None
