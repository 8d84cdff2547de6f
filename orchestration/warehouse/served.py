"""What is served: the `meta` of dbt's models, read from the manifest and checked.

`meta.served` of a model is one of
    snapshot    a small table that every edition rewrites
    append      a table that only grows, too long to be copied whole; each row's `tick_ms` is a minute of the build that
                wrote it. `key`: columns of which a rewritten row replaces all that have the same; `keep_days`: how
                many days are served (all without it), by the column `time` (`t` without it); `read_by`: columns of the
                key whose values are asked for one by one over years, so that their rows are compacted
    tier        a `step` of a series. One that is stored has `key`, the column that names late rows; `order`, that of
                the rows of a clustered period; `late`, which of the publisher's temporary tables holds its late rows
                (none without it); `period`, in which it is clustered; `keep_days`; `compacted`, the longer period into
                which clustered ones are compacted. A view is computed when it is read
    view        computed when it is read, from tables and views that are served; of no step
`meta.trim` of a model says which of its old rows upkeep deletes: `time`, the column; `step`, whose `keep_days` it
shares, or `keep_days`; `where`, a further condition. Stored tiers are trimmed without it.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from orchestration.config.clock import DAY_MS, HOUR_MS, MINUTE_MS
from orchestration.warehouse.writer import PipelineError

WEEK_MS = 7 * DAY_MS
UNITS = {"m": MINUTE_MS, "h": HOUR_MS, "d": DAY_MS}
# The epoch was a Thursday; weeks begin on Mondays.
MONDAY_MS = 4 * DAY_MS
PERIODS = ("hour", "day", "week", "month")
LATE = ("late_rows", "late_ratios")
VIEW = "view_in_place"
# Per value of `served`, the other required and optional keys of `meta`.
KEYS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "snapshot": (frozenset(), frozenset()),
    "append": (frozenset({"key"}), frozenset({"keep_days", "time", "read_by"})),
    "tier": (frozenset({"step", "key", "order", "period"}), frozenset({"keep_days", "late", "compacted"})),
    "view": (frozenset(), frozenset()),
}
COMPUTED = (frozenset({"step"}), frozenset[str]())
OURS = frozenset().union(*(must | may for must, may in KEYS.values()))


class ServedError(PipelineError):
    """A model's `meta` is wrong: the message names the model, the value and what is allowed."""


class History(NamedTuple):
    """A served table that only grows; `key` and `read_by` as SQL lists columns."""

    key: str
    keep_days: int | None = None
    time: str = "t"
    read_by: str | None = None


@dataclass(frozen=True)
class Tier:
    """A step of the series: its width, the periods it is clustered in, how many days of it are served (None: all), and
    the longer period into which clustered ones are compacted."""

    step: str
    period: str = "month"
    keep_days: int | None = None
    compacted: str | None = None

    @property
    def step_ms(self) -> int:
        return int(self.step[:-1]) * UNITS[self.step[-1]]

    def period_of(self, t: int) -> tuple[int, int]:
        """Start and end of the clustered period that holds this time."""
        return period_at(self.period, t)

    def compacted_of(self, t: int) -> tuple[int, int]:
        """Start and end of the compacted (else clustered) period that holds this time."""
        return period_at(self.compacted or self.period, t)

    def kept_from(self, as_of_ms: int) -> int:
        """The start of the oldest period that is served as a whole."""
        return 0 if self.keep_days is None else self.compacted_of(as_of_ms - self.keep_days * DAY_MS)[0]


@dataclass(frozen=True)
class Table:
    """A stored tier of a series: `key` and `late` as in the module's docstring, `order` as SQL lists columns."""

    name: str
    tier: Tier
    key: str
    order: str
    late: str | None = None


class Trimmed(NamedTuple):
    """Rows of a table that upkeep deletes when they are older than this number of recorded days."""

    table: str
    time: str
    keep_days: int
    where: str = "true"


@dataclass(frozen=True)
class Served:
    """Everything that a replica holds, and what upkeep trims.

    tables: the stored tiers, finer before coarser
    views: the computed tiers and the other views, each after the tables and views that it reads
    tiers: every step, the finest first
    """

    snapshots: tuple[str, ...]
    histories: Mapping[str, History]
    tiers: tuple[Tier, ...]
    tables: tuple[Table, ...]
    views: tuple[str, ...]
    trimmed: tuple[Trimmed, ...]

    @property
    def names(self) -> list[str]:
        """All tables and views that are served."""
        return [*(table.name for table in self.tables), *self.views, *self.snapshots, *self.histories]


def period_at(name: str, t: int) -> tuple[int, int]:
    """Start and end of the hour, day, week or month (UTC) that holds this time."""
    match name:
        case "hour":
            start = t - t % HOUR_MS
            return start, start + HOUR_MS
        case "day":
            start = t - t % DAY_MS
            return start, start + DAY_MS
        case "week":
            start = t - (t - MONDAY_MS) % WEEK_MS
            return start, start + WEEK_MS
    month = datetime.fromtimestamp(t / 1000, UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    following = (month + timedelta(days=32)).replace(day=1)
    return int(month.timestamp() * 1000), int(following.timestamp() * 1000)


def read_served(manifest: Path) -> Served:
    """The served tables of the manifest; ServedError if it is wrong."""

    def models(content: Mapping[str, Any]) -> dict[str, Any]:
        return {
            node["name"]: {
                "meta": node["config"]["meta"],
                "view": node["config"]["materialized"] == VIEW,
                "columns": list(node["columns"]),
                "reads": [parent.rpartition(".")[2] for parent in node["depends_on"]["nodes"]],
            }
            for node in content["nodes"].values()
            if node["resource_type"] == "model" and {"served", "trim"} & node["config"].get("meta", {}).keys()
        }

    return served_by(from_manifest(manifest, "served", models))


def from_manifest(manifest: Path, name: str, make: Callable[[Mapping[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """What is made of a manifest, kept beside it under this name because a manifest takes long to read."""
    kept = manifest.with_name(f"{name}.json")
    if not kept.exists() or kept.stat().st_mtime_ns < manifest.stat().st_mtime_ns:
        written = kept.with_name(f"{kept.name}.new")
        written.write_text(json.dumps(make(json.loads(manifest.read_bytes()))))
        written.replace(kept)
    found: dict[str, Any] = json.loads(kept.read_bytes())
    return found


def served_by(models: Mapping[str, Mapping[str, Any]]) -> Served:
    """The served tables of these models, each given by its `meta` and `columns`, whether it is a `view`, and the models
    it `reads`."""
    snapshots, histories, tables, steps, views, trims = [], {}, [], dict[str, Tier](), dict[str, str | None](), []
    for name, model in sorted(models.items()):
        meta = model["meta"]
        if "trim" in meta:
            trims.append((name, meta["trim"]))
        if "served" not in meta:
            continue
        _check(name, meta, model["view"], model["columns"])
        if meta["served"] == "snapshot":
            snapshots.append(name)
        elif meta["served"] == "append":
            read_by = ", ".join(meta["read_by"]) if "read_by" in meta else None
            histories[name] = History(", ".join(meta["key"]), meta.get("keep_days"), meta.get("time", "t"), read_by)
        elif model["view"]:
            views[name] = meta.get("step")
        else:
            tier = Tier(meta["step"], meta["period"], meta.get("keep_days"), meta.get("compacted"))
            if steps.setdefault(tier.step, tier) != tier:
                raise ServedError(
                    f"{name} has meta {_said(tier)}, but another model of step {tier.step} has "
                    f"{_said(steps[tier.step])}: the tables of one step are kept and clustered alike"
                )
            tables.append(Table(name, tier, meta["key"], ", ".join(meta["order"]), meta.get("late")))
    every = {step: Tier(step) for step in views.values() if step} | steps
    return Served(
        snapshots=tuple(snapshots),
        histories=histories,
        tiers=tuple(sorted(every.values(), key=lambda tier: tier.step_ms)),
        tables=tuple(sorted(tables, key=lambda table: (table.tier.step_ms, table.name))),
        views=tuple(_in_order(views, models)),
        trimmed=tuple(_trimmed(trims, steps, tables)),
    )


def _said(tier: Tier) -> str:
    return f"period {tier.period}, keep_days {tier.keep_days}, compacted {tier.compacted}"


def _check(name: str, meta: Mapping[str, Any], view: bool, columns: Sequence[str]) -> None:
    def refuse(key: str, allowed: str) -> None:
        raise ServedError(f"{name} has meta {key}: {meta.get(key)!r}, but it must be {allowed}")

    served = meta["served"]
    if served not in KEYS:
        refuse("served", f"one of {', '.join(KEYS)}")
    if served == "view" and not view:
        refuse("served", f"one of {', '.join(set(KEYS) - {served})}, because its rows are stored")
    must, may = COMPUTED if served == "tier" and view else KEYS[served]
    for key in sorted(must - meta.keys()):
        refuse(key, f"set for served: {served}")
    for key in sorted((meta.keys() & OURS) - must - may):
        refuse(key, f"left out for served: {served}{' of a view' if view else ''}")
    if "step" in meta and not (str(meta["step"])[:-1].isdigit() and str(meta["step"])[-1] in UNITS):
        refuse("step", "a width such as 5m, 1h or 1d")
    for key in sorted({"period", "compacted"} & meta.keys()):
        if meta[key] not in PERIODS:
            refuse(key, f"one of {', '.join(PERIODS)}")
    if meta.get("late", LATE[0]) not in LATE:
        refuse("late", f"one of {', '.join(LATE)}")
    if "keep_days" in meta and not (isinstance(meta["keep_days"], int) and meta["keep_days"] > 0):
        refuse("keep_days", "a whole number above 0")
    known = {*columns, "base_key"}
    for key in sorted({"key", "order", "read_by", "time"} & meta.keys()):
        listed = key in ("order", "read_by") or (key == "key" and served == "append")
        value = meta[key]
        if listed != isinstance(value, list) or not known.issuperset(value if listed else [value]):
            refuse(key, f"{'a list of columns' if listed else 'a column'} of the model: {', '.join(columns)}")


def _in_order(views: Mapping[str, str | None], models: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Each view after the views that it reads."""
    placed: list[str] = []

    def place(view: str) -> None:
        for parent in models[view]["reads"]:
            if parent in views:
                place(parent)
        if view not in placed:
            placed.append(view)

    for view in views:
        place(view)
    return placed


def _trimmed(
    trims: Iterable[tuple[str, Mapping[str, Any]]], steps: Mapping[str, Tier], tables: Sequence[Table]
) -> Iterable[Trimmed]:
    for name, trim in trims:
        if not trim.keys() <= {"time", "step", "keep_days", "where"} or not {"time"} <= trim.keys():
            raise ServedError(f"{name} has meta trim: {dict(trim)}, but it must have time, and step or keep_days")
        tier = steps.get(trim.get("step", ""))
        keep_days = trim.get("keep_days") or (tier.keep_days if tier else None)
        if not keep_days:
            raise ServedError(
                f"{name} has meta trim: {dict(trim)}, but it must have keep_days, or a step that is kept for some days"
            )
        yield Trimmed(name, trim["time"], keep_days, trim.get("where", "true"))
    for table in tables:
        if table.tier.keep_days:
            yield Trimmed(table.name, "t", table.tier.keep_days)
