"""The metric definitions of an edition: names, aliases, fields and limits, as written in the dbt models' YAML.

Nothing about a single metric is written here: definitions and data change together, in one edition.
"""

import json
import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

# The names that the interface promises. Which of them can be answered is what the edition's definitions say.
METRIC_NAMES = (
    "basis", "bid-ask-ratio", "cumulative-volume-delta", "cvd", "funding", "funding-rate", "liqs", "liquidations",
    "long-short", "long-short-ratio", "net-flow", "net-positioning", "ob-depth", "oi", "open-interest", "perp-basis",
    "premium", "price", "spot-basis", "spot-perp-volume", "spot-vs-perp-volume", "taker-buy-sell", "taker-flow",
    "taker-net-flow", "top-vs-crowd", "volume", "whale-vs-retail",
)  # fmt: skip
VENUES = ("binance", "bybit", "hyperliquid", "bitget", "okx", "gate", "mexc", "kucoin", "aster", "lighter")
log = logging.getLogger("tidemark.serve")
IDENTIFIER = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII)


@dataclass(frozen=True)
class Metric:
    """One metric as the model that holds it defines it. `fields` maps a JSON field to the mart's column."""

    name: str
    fields: dict[str, str]
    title: str = ""
    description: str = ""
    unit: str = ""
    aliases: tuple[str, ...] = ()
    selectors: tuple[str, ...] = ("base", "market")
    types: tuple[str, ...] = ("perp", "spot", "all")
    endpoints: tuple[str, ...] = ()
    max_range_d: int = 730
    max_range_with_key_d: int = 3650


class Tier(NamedTuple):
    """A stored bucket width. `keep_days` None: kept for ever."""

    step: str
    step_ms: int
    keep_days: int | None


@dataclass(frozen=True)
class Catalog:
    """All metrics of an edition, found by canonical name or alias."""

    metrics: tuple[Metric, ...] = ()
    by_name: dict[str, Metric] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that can be asked for: canonical names and aliases, sorted; the promised ones without metrics."""
        return tuple(sorted(self.by_name)) or METRIC_NAMES


def read_catalog(rows: Iterable[tuple[str, str]]) -> Catalog:
    """The catalog from the replica's (metric, definition JSON) rows. One that is unusable leaves the others alone."""
    metrics = []
    for name, definition in rows:
        try:
            metrics.append(_metric(name, json.loads(definition)))
        except (ValueError, TypeError, KeyError) as error:
            log.warning("metric %s is not served: %s", name, error)
    by_name = {name: metric for metric in metrics for name in (metric.name, *metric.aliases)}
    return Catalog(tuple(metrics), by_name)


def _metric(name: str, definition: dict[str, object]) -> Metric:
    known = {key: definition[key] for key in Metric.__dataclass_fields__ if definition.get(key) is not None}
    lists = {key: tuple(value) for key, value in known.items() if isinstance(value, list)}
    fields: dict[str, str] = {}
    declared = known.get("fields")
    for field_name, target in declared.items() if isinstance(declared, dict) else ():
        column = target["column"] if isinstance(target, dict) else target
        if not IDENTIFIER.fullmatch(column) or not IDENTIFIER.fullmatch(field_name):
            raise ValueError(f"{field_name!r} from {column!r} is not a plain identifier")
        fields[field_name] = column
    if not fields:
        raise ValueError("it declares no fields")
    return Metric(**{**known, **lists, "name": name, "fields": fields})  # type: ignore[arg-type]
