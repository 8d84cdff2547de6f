"""The metric definitions of an edition: names, fields, formulas and limits, as published from dbt's metrics.

No metric is defined here: definitions and data change together, in one edition.
"""

import json
import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from serve.replica.units import UNIT_MS

VENUES = ("binance", "bybit", "hyperliquid", "bitget", "okx", "gate", "mexc", "kucoin", "aster", "lighter")
READS = {"market": "series_market", "venue": "series_venue", "base": "series_base", "all": "series_base"}
log = logging.getLogger("tidemark.serve")
IDENTIFIER = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII)


class Field(NamedTuple):
    """One value array: an SQL expression over the metric's rows, or the running sum of another field."""

    sql: str
    running: str | None = None


class Kind(NamedTuple):
    """One kind of a metric: what `{kind}` stands for in its fields, and the recorded kinds that it is made of."""

    sql: str
    endpoints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Metric:
    """One metric as the dbt project defines it.

    fields: JSON field → {column: c}, {sql: expression}, or {running: field} for its sum from the start of the range.
    An expression may use fields before it, and `{kind}`, which stands for the expression of the requested kind.
    kinds: the kinds that can be requested, the default first: {sql: expression, endpoints: […]} each.
    selectors: how it can be requested: by base, by market, or `all` (all coins together, the only form then).
    types: the market types that can be requested; empty where the metric fixes its type, which is `fixed_type` then.
    reads: the table (without its step) that has the rows, by selector: market, venue, base or all.
    rows: SQL that makes the rows from those of the table, which it reads as `scope`: restricted to base, venue and
    time.
    where: a condition on the rows, for all selectors or by selector.
    grouped: the expressions are aggregates over the rows of a bucket.
    finest: the finest step that has it; empty where all have.
    venues: the venues that are combined if the request names none.
    formula, caveats: how it is computed and its limitations, for readers of the documentation.
    endpoints: the recorded endpoints that it is computed from; their gaps are its gaps. A kind has its own.
    shared_endpoints: further such endpoints, which are also requested from venues without the metric.
    priced_by: further endpoints that bring the prices by which it is valued.
    coverage: the `family` of expected markets that count in it, and the condition by which the row of a market is
    `counted` in its bucket; `reads`, the table of these rows where the tables of coins have no counts; no family where
    it is unknown which markets to expect.
    history: whether the venues' own history fills in the time that was not recorded.
    """

    name: str
    fields: Mapping[str, Field]
    title: str = ""
    description: str = ""
    unit: str = ""
    aliases: tuple[str, ...] = ()
    selectors: tuple[str, ...] = ("base", "market")
    types: tuple[str, ...] = ("perp", "spot", "all")
    fixed_type: str = "perp"
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    reads: Mapping[str, str] = field(default_factory=dict)
    rows: str = ""
    where: Mapping[str, str] = field(default_factory=dict)
    grouped: bool = False
    finest: str = ""
    venues: tuple[str, ...] = ()
    endpoints: tuple[str, ...] = ()
    shared_endpoints: tuple[str, ...] = ()
    priced_by: tuple[str, ...] = ()
    coverage: Mapping[str, str] = field(default_factory=dict)
    history: bool = True
    formula: str = ""
    caveats: tuple[str, ...] = ()
    max_range_d: int = 730
    max_range_with_key_d: int = 3650

    @property
    def market_types(self) -> tuple[str, ...]:
        """The types that a market of this metric may have."""
        return self.types or (self.fixed_type,)

    def endpoints_of(self, kind: str | None) -> tuple[str, ...]:
        """The recorded endpoints that a venue with this metric (or kind of it) has."""
        return self.kinds[kind].endpoints if kind else self.endpoints

    def sources_of(self, kind: str | None) -> tuple[str, ...]:
        """All recorded endpoints whose values are in the metric (or kind of it)."""
        return (*self.endpoints_of(kind), *self.shared_endpoints, *self.priced_by)

    def family(self, selector: str) -> str:
        """The tables that hold the rows, without their step."""
        return self.reads.get(selector, READS[selector])

    def table(self, selector: str, step: str) -> str:
        """The table that holds the rows."""
        return f"{self.family(selector)}_{step}"


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
    tiers: tuple[Tier, ...] = ()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every name that can be requested: canonical names and aliases, sorted."""
        return tuple(sorted(self.by_name))

    @cached_property
    def steps(self) -> tuple[str, ...]:
        """The steps that a request may give: those that divide a day. Coarser ones are for ranges of years."""
        return tuple(tier.step for tier in self.tiers if UNIT_MS["d"] % tier.step_ms == 0)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The values that a request may give as `kind`."""
        return tuple(dict.fromkeys(kind for metric in self.metrics for kind in metric.kinds))


def read_catalog(rows: Iterable[tuple[str, str]], tiers: tuple[Tier, ...] = ()) -> Catalog:
    """The catalog from the replica's (metric, definition JSON) rows. An unusable row leaves out its own metric only."""
    metrics = []
    for name, definition in rows:
        try:
            metrics.append(_metric(name, json.loads(definition)))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            log.warning("metric %s is not served: %s", name, error)
    by_name = {name: metric for metric in metrics for name in (metric.name, *metric.aliases)}
    return Catalog(tuple(metrics), by_name, tiers)


def _metric(name: str, definition: dict[str, Any]) -> Metric:
    known = {key: definition[key] for key in Metric.__dataclass_fields__ if definition.get(key) is not None}
    lists = {key: tuple(value) for key, value in known.items() if isinstance(value, list)}
    fields = {field_name: _field(target) for field_name, target in (known.get("fields") or {}).items()}
    plain = [*fields, *known.get("reads", {}).values(), *known.get("kinds", {})]
    plain += [shape.running for shape in fields.values() if shape.running]
    for text in plain:
        if not IDENTIFIER.fullmatch(text):
            raise ValueError(f"{text!r} is not a plain identifier")
    if not fields:
        raise ValueError("it declares no fields")
    if isinstance(where := known.get("where", {}), str):
        known["where"] = dict.fromkeys(READS, where)
    if kinds := known.get("kinds"):
        known["kinds"] = {kind: Kind(said["sql"], tuple(said["endpoints"])) for kind, said in kinds.items()}
    return Metric(**{**known, **lists, "name": name, "fields": fields})


def _field(target: Any) -> Field:
    if isinstance(target, str):
        target = {"column": target}
    if len(target) != 1:
        raise ValueError(f"a field has one of column, sql and running, got {', '.join(map(str, target))}")
    if "running" in target:
        return Field("", target["running"])
    if "sql" in target:
        return Field(target["sql"])
    if not IDENTIFIER.fullmatch(target["column"]):
        raise ValueError(f"{target['column']!r} is not a plain identifier")
    return Field(target["column"])
