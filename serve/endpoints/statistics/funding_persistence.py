"""GET /api/funding-persistence: for how long perps have paid funding in one direction."""

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Values, one_of
from serve.contract.schemas import INTEGER, NUMBER, TEXT, Schema, array_of, object_of
from serve.contract.serialize import Body, strict_json
from serve.replica.edition import Reader

SIGNS = {"all": "true", "positive": "sign > 0", "negative": "sign < 0", "reversal": "last_reversal_ms is not null"}
ROW: Schema = {
    **dict.fromkeys(("venue", "symbol", "base"), TEXT),
    "latest_rate": {**NUMBER, "description": "Latest settled payment, fraction per interval_h."},
    "interval_h": INTEGER,
    "stale": {"type": "boolean", "description": "The latest payment is older than one and a half intervals."},
    "sign": {"enum": [-1, 0, 1], "description": "1: longs paid."},
    "current_streak_h": {**NUMBER, "description": "Hours of the unbroken run of payments of one sign, in the window."},
    "last_reversal_ms": {
        "type": ["integer", "null"],
        "description": "The run's first payment, if the one before it had the opposite sign; null if unknown.",
    },
}
SCHEMA = object_of(
    {
        "schema_version": {"const": 1},
        "data_state": {"enum": ["ok", "empty"]},
        "window": TEXT,
        "sign": TEXT,
        "sort": TEXT,
        "rate_unit": {"const": "fraction_per_interval"},
        "duration_unit": {"const": "hours"},
        "evaluated_at_ms": {"type": ["integer", "null"], "description": "End of the window, UTC epoch ms."},
        "eligible_count": {
            **INTEGER,
            "description": "Perps among the 50 with the highest open interest whose payments of the window are known.",
        },
        "rows": array_of(object_of(ROW), "By current_streak_h, then by open interest."),
    }
)
SQL = """
with eligible as (from funding_persistence where lookback = $window)
select to_json({{
    schema_version: 1, data_state: if((select count(*) from eligible) = 0, 'empty', 'ok'), "window": $window,
    sign: $sign, sort: $sort, rate_unit: 'fraction_per_interval', duration_unit: 'hours',
    evaluated_at_ms: (select max(evaluated_at_ms) from eligible), eligible_count: (select count(*) from eligible),
    rows: coalesce((
        select list({{{fields}}} order by current_streak_h {order}, rank) from eligible where {sign}), [])
}})::varchar
"""
FIELDS = ", ".join(f"{name}: {name}" for name in ROW)


@endpoint(
    "/api/funding-persistence",
    ttl=60,
    statuses=(200, 400, 503),
    schema=SCHEMA,
    table="rows",
    budget="series",
    params={
        "window": one_of("How far back payments count.", "7d", "30d", default="7d"),
        "sign": one_of("Sign of the latest payment; reversal: it changed within the window.", *SIGNS, default="all"),
        "sort": one_of("Order by the current streak.", "desc", "asc", default="desc"),
    },
)
def funding_persistence(query: Values, db: Reader) -> Body:
    """The 50 perps with the highest open interest: for how long their settled funding has kept one sign."""
    sql = SQL.format(fields=FIELDS, order=query["sort"], sign=SIGNS[query["sign"]])
    return Body(strict_json(db.value(sql, dict(query)).encode()))
