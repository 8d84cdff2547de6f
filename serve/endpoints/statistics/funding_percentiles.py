"""GET /api/funding-percentiles: the live funding rate as a percentile of the market's own past rates."""

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Values, one_of
from serve.contract.schemas import INTEGER, NUMBER, NUMBER_OR_NULL, TEXT, Schema, array_of, object_of
from serve.contract.serialize import Body, strict_json
from serve.replica.edition import Reader

VENUES = ("binance", "bybit", "hyperliquid", "okx", "bitget")
MOST = 50
ROW: Schema = {
    **dict.fromkeys(("base", "venue", "symbol"), TEXT),
    "oi_usd": NUMBER,
    "live_funding": {**NUMBER_OR_NULL, "description": "Quoted in the last 5 minutes."},
    "comparison_funding": {**NUMBER_OR_NULL, "description": "The ranked rate: the live one."},
    "comparison_time_ms": {"type": ["integer", "null"]},
    "percentile": {
        **NUMBER_OR_NULL,
        "description": "Mid-rank among the reference, 0 to 100: 100 * (below + equal / 2) / reference_count.",
    },
    "reference_count": {**INTEGER, "description": "Whole hours of the window with a known mean rate."},
    "expected_count": {**INTEGER, "description": "Hours in the window."},
    "coverage_fraction": NUMBER,
    **dict.fromkeys(("median_funding", "p10_funding", "p90_funding"), NUMBER_OR_NULL),
    "stored_funding": {"type": "null"},
    "stored_time_ms": {"type": "null"},
    "row_state": {
        "enum": ["Ranked", "InsufficientHistory", "NoLiveFunding"],
        "description": "InsufficientHistory: fewer than half of the hours are known.",
    },
}
SCHEMA = object_of(
    {
        "schema_version": {"const": 1},
        "state": {"enum": ["ok", "empty"]},
        "window": TEXT,
        "venue": TEXT,
        "funding_unit": {"const": "fraction_per_8h"},
        "rows": array_of(object_of(ROW), "By open interest; quoted rates, not settlements."),
    }
)
STORED = {"stored_funding": "null", "stored_time_ms": "null"}
SQL = f"""
with asked as (
    select {{{", ".join(f"{name}: {STORED.get(name, name)}" for name in ROW)}}} as r, rank
    from funding_percentiles
    where lookback = $window and if($venue = 'all', rank <= {MOST}, venue = $venue and venue_rank <= {MOST})
)
select to_json({{
    schema_version: 1, state: if(count(*) = 0, 'empty', 'ok'), "window": $window, venue: $venue,
    funding_unit: 'fraction_per_8h', rows: coalesce(list(r order by rank), [])
}})::varchar
from asked
"""


@endpoint(
    "/api/funding-percentiles",
    ttl=60,
    statuses=(200, 400, 503),
    schema=SCHEMA,
    table="rows",
    budget="series",
    params={
        "window": one_of("How far back the reference reaches.", "7d", "30d", default="7d"),
        "venue": one_of("One exchange, or all.", "all", *VENUES, default="all"),
    },
)
def funding_percentiles(query: Values, db: Reader) -> Body:
    """The 50 perps with the highest open interest: percentile of the live funding among the market's own past rates."""
    return Body(strict_json(db.value(SQL, dict(query)).encode()))
