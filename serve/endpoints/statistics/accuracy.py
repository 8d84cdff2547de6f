"""GET /api/accuracy: how far recorded values are from what the exchanges publish of the same time afterwards."""

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Values, one_of
from serve.contract.schemas import INTEGER, NUMBER, TEXT, Schema, array_of, object_of
from serve.contract.serialize import Body, strict_json
from serve.replica.catalog import VENUES
from serve.replica.edition import Reader

METRICS = ("price", "volume", "oi", "funding", "liquidations")
WINDOWS = {"7d": 7, "30d": 30, "365d": 365}
DIFFERENCE: Schema = {
    **NUMBER,
    "description": "|recorded - published| / |published|, a fraction; of liquidations / the greater.",
}
ROW: Schema = {
    "day": {**TEXT, "description": "UTC day, YYYY-MM-DD."},
    "t": {**INTEGER, "description": "Its start, UTC epoch ms."},
    "venue": TEXT,
    "metric": {"enum": list(METRICS)},
    "n": {**INTEGER, "description": "Compared values."},
    "median_difference": DIFFERENCE,
    "allowed_difference": {
        "type": ["number", "null"],
        "description": "Greatest median that is not reported as inaccurate; null for days compared without one.",
    },
    "p99_difference": DIFFERENCE,
    "worst_difference": DIFFERENCE,
    "worst_market": TEXT,
    "worst_ms": {**INTEGER, "description": "Hour, observation or settlement of the greatest difference."},
    "worst_recorded": {**NUMBER, "description": "The recorded value there."},
    "worst_published": {**NUMBER, "description": "The exchange's own value there."},
    "minutes_missing": {**INTEGER, "description": "Minutes of the day in which nothing of the exchange was recorded."},
}
SCHEMA = object_of(
    {
        "state": {"enum": ["ok", "empty"], "description": "empty: no day has been compared yet."},
        "rows": array_of(object_of(ROW), "Newest day first."),
        "source": TEXT,
    }
)
COLUMNS = {
    "day": "strftime(make_timestamp_ms(t), '%Y-%m-%d')",
    "worst_market": "worst_market_id",
    "worst_recorded": "worst_served",
}
SQL = f"""
select to_json({{
    state: if(count(*) = 0, 'empty', 'ok'),
    rows: coalesce(
        list({{{", ".join(f"{name}: {COLUMNS.get(name, name)}" for name in ROW)}}} order by t desc, venue, metric), []
    ),
    source: 'accuracy@e' || $edition
}})::varchar
from accuracy
where t > (select max(t) from accuracy) - $days * 86400000::bigint
    and ($venue = 'all' or venue = $venue) and ($metric = 'all' or metric = $metric)
"""


@endpoint(
    "/api/accuracy",
    ttl=300,
    statuses=(200, 400, 503),
    schema=SCHEMA,
    table="rows",
    params={
        "venue": one_of("One exchange, or all.", "all", *VENUES, default="all"),
        "metric": one_of("One metric, or all.", "all", *METRICS, default="all"),
        "window": one_of("How many days, up to the last one that was compared.", *WINDOWS, default="30d"),
    },
)
def accuracy(query: Values, db: Reader) -> Body:
    """By day, exchange and metric: how far recorded values are from the exchange's own history, fetched afterwards."""
    asked = {"venue": query["venue"], "metric": query["metric"], "days": WINDOWS[query["window"]]}
    return Body(strict_json(db.value(SQL, {**asked, "edition": db.edition.edition_id}).encode()))
