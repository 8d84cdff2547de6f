"""GET /api/derivatives-fear-greed: an index from funding, open interest, positions and liquidations."""

import time

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Values
from serve.contract.schemas import INTEGER, NUMBER, NUMBER_OR_NULL, TEXT, TEXT_OR_NULL, Schema, array_of, object_of
from serve.contract.serialize import Body, json_body
from serve.queries.figures.indices import COMPONENTS, FORMULA_VERSION, NAME, fear_greed_of, read_fear_greed
from serve.replica.edition import Reader
from serve.replica.unavailable import Fallback, Unavailable

LABELS = ["Extreme Fear", "Fear", "Neutral", "Greed", "Extreme Greed"]
VALUE: Schema = {"minimum": 0, "maximum": 100}
PERCENTILE: Schema = {**NUMBER_OR_NULL, "description": "Percentile, 0 to 100; null: unknown, left out of the mean."}
PERCENTILES = object_of(dict.fromkeys(COMPONENTS, PERCENTILE))
DAY: Schema = {"date": TEXT, "value": {**INTEGER, **VALUE}, "exact": NUMBER, "label": {"enum": LABELS}}
PROVISIONAL: Schema = {"type": "boolean"}
SCHEMA = object_of(
    {
        "today": object_of(
            {
                "date": TEXT,
                "value": {"type": ["integer", "null"], **VALUE, "description": "null while no component is known."},
                "provisional": PROVISIONAL,
                "exact": NUMBER_OR_NULL,
                "label": {**TEXT_OR_NULL, "enum": [*LABELS, None]},
                "components": PERCENTILES,
            },
            optional=("exact", "label", "components"),
        ),
        "days": array_of(
            object_of(
                {
                    **DAY,
                    "components": PERCENTILES,
                    "provisional": {**PROVISIONAL, "description": "The exchanges' history was still being fetched."},
                }
            ),
            "Completed UTC days of up to a year, oldest first.",
        ),
        "name": {"const": NAME},
        "formula_version": {"const": FORMULA_VERSION},
        "methodology": TEXT,
        "db": {"const": False, "description": "Only without a database."},
        "error": {"const": True, "description": "Only without a readable database."},
    },
    optional=("name", "formula_version", "methodology", "db", "error"),
)


def without_replica(values: Values, outage: Unavailable, fallback: Fallback) -> Body:
    """The same structure without data."""
    empty = {**fear_greed_of(None, [], time.time_ns() // 1_000_000), "db": False}
    return json_body(empty if outage.missing else {**empty, "error": True}, degraded=True)


@endpoint("/api/derivatives-fear-greed", ttl=300, statuses=(200, 400), schema=SCHEMA, offline=without_replica)
def derivatives_fear_greed(query: Values, db: Reader) -> Body:
    """Fear and greed in derivatives, 0 to 100: today, provisional, and each completed day of a year."""
    return json_body(read_fear_greed(db))
