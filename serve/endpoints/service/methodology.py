"""GET /api/methodology/{metric}: how a metric's values are made, from the exchanges' fields to the served tables."""

import json
from typing import Any, NamedTuple

from serve.contract.endpoint import endpoint
from serve.contract.errors import BadParameter
from serve.contract.parameters import Values, metric, step, venue
from serve.contract.schemas import BOOLEAN, INTEGER, INTEGER_OR_NULL, TEXT, TEXT_OR_NULL, Schema, array_of, object_of
from serve.contract.serialize import Body, json_body
from serve.replica.catalog import Metric
from serve.replica.edition import Edition, Reader, literal

TEXTS = {"type": "object", "additionalProperties": TEXT}
CHANGE = object_of({"version": INTEGER, "date": {**TEXT, "description": "UTC day, YYYY-MM-DD."}, "change": TEXT})
MODEL = object_of(
    {
        "model": {**TEXT, "description": "A table, a view, a seed (reference data), or the landing with the raw rows."},
        "layer": {"enum": ["marts", "intermediate", "staging", "metrics", "seeds", "sources"]},
        "description": TEXT,
        "reads": array_of(TEXT, "The models that it reads."),
        "sql": {
            **TEXT_OR_NULL,
            "description": "What dbt ran last to make it; null: it is no SQL, or dbt has not run it here.",
        },
    }
)
SOURCE = object_of(
    {
        "model": {**TEXT, "description": "The staging view that interprets the bodies."},
        "venue": TEXT,
        "endpoints": array_of(TEXT, "The names under which the bodies are recorded."),
        "measures": {
            **BOOLEAN,
            "description": "The metric's own values are in them; false: they say what a market is (its coin, contract, "
            "page), or weigh it.",
        },
        "requests": array_of(TEXT, "What is requested of the exchange."),
        "document": {**TEXT_OR_NULL, "description": "The exchange's documentation; null: it documents none."},
        "fields": {
            **TEXTS,
            "description": "Column → SQL that extracts it from the body's row `r`, or the name of the row's field.",
        },
    }
)
TEST = object_of(
    {
        "test": TEXT,
        "kind": {"enum": ["test", "unit_test"], "description": "Of the tables' rows, or of a formula on given rows."},
        "models": array_of(TEXT, "What it is about."),
        "column": TEXT_OR_NULL,
        "description": TEXT,
        "status": {
            "enum": ["pass", "warn", "fail", "error", "skipped", None],
            "description": "Its last result here; null: it has not run on this warehouse.",
        },
        "failures": {**INTEGER_OR_NULL, "description": "Rows that fail it."},
        "message": TEXT_OR_NULL,
        "tested_ms": {**INTEGER_OR_NULL, "description": "When that was, UTC epoch ms."},
    }
)
SCHEMA: Schema = object_of(
    {
        **dict.fromkeys(("metric", "title", "description", "unit", "formula"), TEXT),
        "caveats": array_of(TEXT),
        "aliases": array_of(TEXT),
        "version": INTEGER,
        "changes": array_of(CHANGE, "What its values meant when, the newest first."),
        "step": TEXT,
        "fields": {**TEXTS, "description": "Field → SQL over the rows of `tables`."},
        "tables": {**TEXTS, "description": "The served table by what is requested: base, venue, market or all."},
        "models": array_of(MODEL, "The lineage of the tables, from the marts to the raw rows."),
        "sources": array_of(SOURCE, "What the exchanges publish, by staging view."),
        "tests": array_of(TEST, "The tests of these models."),
        "source": TEXT,
        "server_ts": {**INTEGER, "description": "The edition's as_of, UTC epoch ms."},
    }
)
LINEAGE = """
with recursive lineage as (
    select unnest([{tables}]) as model
    union
    select unnest(m.reads) from methodology_models as m join lineage using (model)
)
"""
MODELS = """
select m.*, s.sql
from lineage join methodology_models as m using (model)
left join (from methodology_sql union all from methodology_window_sql) as s using (model)
where m.venue is null or $venue is null or m.venue = $venue
order by list_position(['marts', 'metrics', 'intermediate', 'staging', 'seeds', 'sources'], layer), model
"""
TESTS = """
select test, kind, models, column_name as "column", description, status, failures, message, tested_ms
from methodology_tests left join methodology_results using (test)
where list_has_any(models, $models)
order by kind, test
"""


class Asked(NamedTuple):
    """A canonical request."""

    metric: str
    step: str
    venue: str | None


def resolve(values: Values, edition: Edition, _: bool) -> Asked:
    """The metric by its canonical name, and a step that it has."""
    found = edition.catalog.by_name.get(values["metric"])
    if found is None:
        names = edition.catalog.names
        raise BadParameter("metric", values["metric"], "available: " + ", ".join(names), names)
    widths = {tier.step: tier.step_ms for tier in edition.tiers}
    known = [one for one in edition.catalog.steps if widths[one] >= widths.get(found.finest, 0)]
    if values["step"] not in known:
        raise BadParameter("step", values["step"], f"{found.name} has the steps {', '.join(known)}", known)
    return Asked(found.name, values["step"], values["venue"])


@endpoint(
    "/api/methodology/{metric}",
    ttl=60,
    statuses=(200, 400, 503),
    schema=SCHEMA,
    resolve=resolve,
    params={
        "metric": metric(),
        "step": step("Bucket width: the lineage is that of the tables of this step.", default="1h"),
        "venue": venue("Staging views of one exchange only."),
    },
)
def methodology(query: Asked, db: Reader) -> Body:
    """How a metric is computed: definition, changes, the SQL of this edition, the exchanges' fields, the tests."""
    found = db.edition.catalog.by_name[query.metric]
    written = json.loads(db.value("select definition::varchar from catalog where metric = $name", {"name": found.name}))
    tables = _tables(found, query.step)
    lineage = LINEAGE.format(tables=", ".join(map(literal, tables.values())))
    rows = db.rows(lineage + MODELS, {"venue": query.venue})
    said = ("title", "description", "unit", "formula", "caveats", "aliases", "version", "changes")
    return json_body(
        {
            "metric": found.name,
            **{name: written[name] for name in said},
            "step": query.step,
            "fields": {name: f"sum of {one.running}" if one.running else one.sql for name, one in found.fields.items()},
            "tables": tables,
            "models": [{name: row[name] for name in MODEL["properties"]} for row in rows],
            "sources": [_source(row, found) for row in rows if row["venue"]],
            "tests": db.rows(TESTS, {"models": [row["model"] for row in rows]}),
            "source": f"methodology@e{db.edition.edition_id}",
            "server_ts": db.edition.as_of_ms,
        }
    )


def _tables(metric: Metric, step: str) -> dict[str, str]:
    """The table for each way in which the metric can be requested."""
    selectors = [*metric.selectors, *(["venue"] if "base" in metric.selectors else [])]
    return {selector: metric.table(selector, step) for selector in selectors}


def _source(row: dict[str, Any], metric: Metric) -> dict[str, Any]:
    """A staging view, with what it reads of its exchange."""
    own = {name for kind in metric.kinds or [None] for name in metric.sources_of(kind)}
    measures = bool(own.intersection([row["model"].partition("__")[2], *row["endpoints"]]))
    listed = {name: row[name] for name in ("model", "venue", "endpoints", "requests", "document")}
    return {**listed, "measures": measures, "fields": json.loads(row["fields"])}
