"""GET /api/market-movers: the coins with the highest and the lowest changes, funding and liquidations."""

import time
from typing import Any

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Values
from serve.contract.schemas import NUMBER, TEXT, TEXT_OR_NULL, Schema, array_of, object_of
from serve.contract.serialize import Body, json_body, strict_json
from serve.replica.edition import Reader
from serve.replica.unavailable import Fallback, Unavailable

UNITS = {
    "price": "fraction",
    "oi": "fraction",
    "long_short": "fraction",
    "funding": "fraction_per_8h",
    "liquidations": "usd",
}
ROWS: Schema = {
    **array_of(
        object_of(
            {
                **dict.fromkeys(("base", "venue", "symbol"), TEXT),
                "value": NUMBER,
                "coin_url": {**TEXT_OR_NULL, "description": "Path of the coin's detail."},
            }
        )
    ),
    "maxItems": 5,
}
SECTION = object_of(
    {
        "as_of": {"type": ["integer", "null"]},
        "unit": {"enum": sorted(set(UNITS.values()))},
        "unavailable": {**TEXT_OR_NULL, "description": "Why there are no rows."},
        "note": TEXT_OR_NULL,
        "up": {
            **ROWS,
            "description": "The highest values; a coin is represented by its perp with the highest open interest.",
        },
        "down": {**ROWS, "type": ["array", "null"], "description": "The lowest; null for liquidations."},
    }
)
SCHEMA = object_of({"as_of": {"type": "integer"}, "sections": object_of(dict.fromkeys(UNITS, SECTION))})
SQL = """
select to_json({
    as_of: ?::bigint,
    sections: map_from_entries(list((section, {
        as_of: as_of, unit: unit, unavailable: unavailable, note: note, up: up, down: down})))
})::varchar
from market_movers
"""


def nothing_readable(values: Values, outage: Unavailable, fallback: Fallback) -> Body:
    """Every section is empty and has the reason."""
    now = int(time.time() * 1000)
    empty: dict[str, Any] = {"unavailable": str(outage), "note": None, "up": [], "down": None}
    sections = {
        name: {"as_of": None if name == "long_short" else now, "unit": unit, **empty} for name, unit in UNITS.items()
    }
    return json_body({"as_of": now, "sections": sections}, degraded=True)


@endpoint("/api/market-movers", ttl=5, budget="series", statuses=(200, 400), schema=SCHEMA, offline=nothing_readable)
def market_movers(query: Values, db: Reader) -> Body:
    """Coins with the highest and lowest price, open interest, long/short and funding, and the most liquidated."""
    return Body(strict_json(db.value(SQL, [db.edition.as_of_ms]).encode()))
