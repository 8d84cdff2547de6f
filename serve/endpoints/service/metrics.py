"""GET /api/metrics: every metric of the series, what it means, and how it can be requested."""

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Values
from serve.contract.schemas import BOOLEAN, INTEGER, TEXT, TEXT_OR_NULL, array_of, object_of
from serve.contract.serialize import Body, json_body
from serve.queries.figures.metrics import listed
from serve.replica.edition import Reader
from serve.replica.unavailable import Fallback, Unavailable

METRIC = object_of(
    {
        **dict.fromkeys(("metric", "title", "description", "unit", "formula"), TEXT),
        "caveats": array_of(TEXT),
        "aliases": array_of(TEXT, "Other names that requests may use."),
        "fields": array_of(TEXT, "The value arrays of a series; the first one is charted."),
        "selectors": array_of(TEXT, "How a series is requested: by base, by market, or of all coins together."),
        "types": array_of(TEXT, "The market types that can be requested; empty where the metric has one alone."),
        "kinds": array_of(TEXT, "The kinds that can be requested, the default first; empty where there are none."),
        "steps": array_of(TEXT, "The steps of its series, the finest first."),
        "known_later": {**BOOLEAN, "description": "as_known_at gives its series as it was served at an earlier time."},
        "history": {**BOOLEAN, "description": "The exchanges' own history fills in what was not recorded."},
        "series": {**TEXT, "description": "Its series: add the selectors."},
        "methodology": {**TEXT, "description": "How its values are made, from the exchanges' fields."},
    }
)
STEP = object_of({"step": TEXT, "step_ms": INTEGER, "keep_days": {"type": ["integer", "null"]}})
SCHEMA = object_of(
    {
        "metrics": array_of(METRIC),
        "steps": array_of(STEP, "Stored bucket widths, and for how many days (null: for ever)."),
        "venues": array_of(TEXT, "Exchanges that series combine, and that can be selected."),
        "source": TEXT_OR_NULL,
    }
)


def offline(values: Values, outage: Unavailable, fallback: Fallback) -> Body:
    """The metrics of the last edition that was served."""
    return json_body({**listed(fallback.catalog), "source": None}, degraded=True)


@endpoint("/api/metrics", ttl=300, statuses=(200, 400), schema=SCHEMA, offline=offline)
def metrics(query: Values, db: Reader) -> Body:
    """Every metric: its meaning, unit, formula and caveats, and how its series can be requested."""
    return json_body({**listed(db.edition.catalog), "source": f"catalog@e{db.edition.edition_id}"})
