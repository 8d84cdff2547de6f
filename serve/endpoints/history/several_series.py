"""GET /api/series: several metrics of a coin or a market on one time axis, as a page with charts needs them."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from serve.contract.endpoint import endpoint
from serve.contract.errors import BadParameter
from serve.contract.parameters import Values, metrics, one_of, step
from serve.contract.schemas import INTEGER, TEXT, TEXT_OR_NULL, Schema, array_of, object_of
from serve.contract.serialize import Body, json_body
from serve.queries.series import FIELDS, at_tier, describe_series, placed_at, read_points, with_data
from serve.queries.series_query import AS_KNOWN_AT, AUTO, KNOWN_TTL_S, SELECTION, SeriesQuery, resolve_series
from serve.replica.edition import Edition, Reader

MOST = 6
"""Metrics of a request at most: reading six takes as long as reading one of each exchange."""
# What a metric has of its own; `kind` is of long-short alone.
OWN = ("type", "kind", "source", "fields")
ONE: Schema = {
    "type": "object",
    "description": "A metric: its fields as arrays, each as long as `t`; null is unknown.",
    "required": ["unit", "type", "source", "fields", "gaps"],
    "properties": {
        "unit": TEXT,
        **{name: FIELDS["properties"][name] for name in (*OWN, "n", "expected", "origin", "gaps")},
    },
    "additionalProperties": FIELDS["additionalProperties"],
}
SCHEMA = object_of(
    {
        **dict.fromkeys(("base", "market", "venue"), TEXT_OR_NULL),
        **{name: FIELDS["properties"][name] for name in ("step", "coarsened", "start", "end")},
        "t": array_of(INTEGER, "The buckets in which any of the metrics has a value, UTC epoch ms."),
        "series": {"type": "object", "description": "Metric → its series.", "additionalProperties": ONE},
    },
    optional=("coarsened",),
)


class SeveralSeries(NamedTuple):
    """A canonical query: each metric as it would be answered alone."""

    queries: tuple[SeriesQuery, ...]


def resolve(values: Values, edition: Edition, keyed: bool) -> SeveralSeries:
    """The canonical query; raises what a request of one of the metrics would."""
    given = {**values, "kind": None, "format": "json"}
    names = dict.fromkeys(_canonical(name, edition) for name in values["m"])
    return SeveralSeries(tuple(resolve_series({**given, "metric": name}, edition, keyed) for name in names))


def _canonical(name: str, edition: Edition) -> str:
    metric = edition.catalog.by_name.get(name)
    if metric is None:
        names = edition.catalog.names
        raise BadParameter("m", name, "available: " + ", ".join(names), names)
    return metric.name


@endpoint(
    "/api/series",
    ttl=15,
    budget="series",
    statuses=(200, 400, 404, 503),
    schema=SCHEMA,
    resolve=resolve,
    params={
        "m": metrics(f"Metrics, up to {MOST}, by name or alias.", MOST, "price,oi,funding,liquidations"),
        **SELECTION,
        "step": step(
            "Bucket width, for all of the metrics; raised to the coarsest that one of them needs.", AUTO, default=AUTO
        ),
        "coverage": one_of(
            "1 adds how many markets are in each bucket and how many were expected.", "0", "1", default="0"
        ),
        "as_known_at": AS_KNOWN_AT,
    },
)
def several_series(query: SeveralSeries, db: Reader) -> Body:
    """Up to 6 metrics of one coin or market, on one time axis, counted as one request."""
    found = [with_data(one, db) for one in query.queries]
    coarsened = next((one.coarsened for one in found if one.coarsened), None)
    # Their steps differ where a metric has no finer one, or no data in it.
    coarsest = max(one.step_ms for one in found)
    tier = next(tier for tier in db.edition.tiers if tier.step_ms == coarsest)
    found = [at_tier(one, tier, db) for one in found]
    points = [read_points(one, db) for one in found]
    t = np.unique(np.concatenate([one.columns["t"] for one in points]))
    described = [describe_series(one, db) for one in found]
    shared = {name: described[0][name] for name in ("base", "market", "venue", "step", "start", "end")}
    series = {
        about["metric"]: {
            "unit": db.edition.catalog.by_name[about["metric"]].unit,
            **{name: about[name] for name in OWN if name in about},
            **placed_at(t, one),
            "gaps": one.gaps,
        }
        for about, one in zip(described, points, strict=True)
    }
    body = json_body({**shared, **({"coarsened": coarsened} if coarsened else {}), "t": t, "series": series})
    return body if query.queries[0].known_at is None else replace(body, ttl=KNOWN_TTL_S)
