"""The metrics of an edition with what a request for their series may say."""

from typing import Any

from serve.queries.as_known import is_known_later
from serve.replica.catalog import VENUES, Catalog, Metric, Tier


def listed(catalog: Catalog) -> dict[str, Any]:
    """The metrics of a catalog with what a request may say."""
    steps = [tier for tier in catalog.tiers if tier.step in catalog.steps]
    return {
        "metrics": [_described(metric, steps) for metric in catalog.metrics],
        "steps": [tier._asdict() for tier in catalog.tiers],
        "venues": VENUES,
    }


def _described(metric: Metric, steps: list[Tier]) -> dict[str, Any]:
    width = {tier.step: tier.step_ms for tier in steps}.get(metric.finest, 0)
    return {
        "metric": metric.name,
        "title": metric.title,
        "description": metric.description,
        "unit": metric.unit,
        "formula": metric.formula,
        "caveats": metric.caveats,
        "aliases": metric.aliases,
        "fields": list(metric.fields),
        "selectors": metric.selectors,
        "types": metric.types,
        "kinds": list(metric.kinds),
        "steps": [tier.step for tier in steps if tier.step_ms >= width],
        "known_later": is_known_later(metric),
        "history": metric.history,
        "series": f"/api/series/{metric.name}",
        "methodology": f"/api/methodology/{metric.name}",
    }
