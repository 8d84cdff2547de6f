"""Served tables: the `meta` of dbt's models, and one clear sentence for each wrong one."""

import json
from pathlib import Path
from typing import Any

import pytest
from dbt.contracts.graph.nodes import ModelNode

from ingest.declaration.history import HISTORY_SQL
from orchestration.config.clock import DAY_MS
from orchestration.warehouse.served import History, ServedError, Table, Tier, Trimmed, period_at, read_served, served_by
from tests.support.pipeline.dbt_project import evaluated, manifest, served

HOURS = {"served": "tier", "step": "1h", "period": "week", "key": "base", "order": ["base", "t"]}
EVENTS = {"served": "append", "key": ["id"], "time": "at", "keep_days": 9, "read_by": ["id"]}
COLUMNS = ["t", "at", "id", "base"]


def model(meta: dict[str, Any], view: bool = False, reads: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"meta": meta, "view": view, "columns": COLUMNS, "reads": list(reads)}


def test_served_tables_follow_from_the_models_meta() -> None:
    found = served_by(
        {
            "days": model({"served": "tier", "step": "1d"}, view=True, reads=("half_days",)),
            "half_days": model({"served": "tier", "step": "12h"}, view=True, reads=("hours",)),
            "hours": model({**HOURS, "late": "late_rows", "keep_days": 5}),
            "events": model(EVENTS),
            "now": model({"served": "snapshot"}),
            "facts": model({"trim": {"time": "t", "step": "1h", "where": "id > 0"}}),
        }
    )
    tier = Tier("1h", "week", 5)
    assert found.tables == (Table("hours", tier, "base", "base, t", "late_rows"),)
    assert found.views == ("half_days", "days")
    assert found.tiers == (tier, Tier("12h"), Tier("1d"))
    assert [one.step_ms for one in found.tiers] == [3_600_000, 43_200_000, 86_400_000]
    assert found.histories == {"events": History("id", 9, "at", "id")}
    assert found.snapshots == ("now",)
    assert set(found.trimmed) == {Trimmed("facts", "t", 5, "id > 0"), Trimmed("hours", "t", 5)}


@pytest.mark.parametrize(
    ("meta", "said"),
    [
        ({"served": "snapshots"}, "served: 'snapshots', but it must be one of snapshot, append, tier"),
        ({"served": "append"}, "key: None, but it must be set for served: append"),
        (
            {"served": "append", "key": "id"},
            "key: 'id', but it must be a list of columns of the model: t, at, id, base",
        ),
        ({"served": "append", "key": ["no"]}, "key: ['no'], but it must be a list of columns"),
        ({**EVENTS, "time": "when"}, "time: 'when', but it must be a column of the model: t, at"),
        ({**EVENTS, "keep_days": "all"}, "keep_days: 'all', but it must be a whole number above 0"),
        ({"served": "snapshot", "keep_days": 3}, "keep_days: 3, but it must be left out for served: snapshot"),
        ({**HOURS, "step": "hour"}, "step: 'hour', but it must be a width such as 5m, 1h or 1d"),
        ({**HOURS, "period": "year"}, "period: 'year', but it must be one of hour, day, week, month"),
        ({**HOURS, "late": "rows"}, "late: 'rows', but it must be one of late_rows, late_ratios"),
        ({"trim": {"time": "t"}}, "but it must have keep_days, or a step that is kept for some days"),
        ({"trim": {"column": "t"}}, "but it must have time, and step or keep_days"),
    ],
)
def test_meta_that_cannot_be_served_is_refused_by_model_value_and_what_is_allowed(
    meta: dict[str, Any], said: str
) -> None:
    with pytest.raises(ServedError) as refused:
        served_by({"some_mart": model(meta)})
    assert str(refused.value).startswith("some_mart has meta ")
    assert said in str(refused.value)


def test_tables_of_one_step_have_the_same_retention() -> None:
    with pytest.raises(ServedError, match=r"more has meta period week, keep_days 3, .* another model of step 1h has"):
        served_by({"hours": model(HOURS), "more": model({**HOURS, "keep_days": 3})})


def test_the_cached_served_tables_follow_the_manifest(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"

    def write(*names: str) -> None:
        config = {"meta": {"served": "snapshot"}, "materialized": "windowed"}
        nodes = [
            {"resource_type": "model", "name": name, "config": config, "columns": {}, "depends_on": {"nodes": []}}
            for name in names
        ]
        path.write_text(json.dumps({"nodes": dict(zip(names, nodes, strict=True))}))

    write("one")
    assert read_served(path).snapshots == ("one",)
    write("one", "two")
    assert read_served(path).snapshots == ("one", "two")


def test_every_mart_is_served_or_read_by_another() -> None:
    """A mart that nothing serves and no model reads was forgotten."""
    models = [node for node in manifest().nodes.values() if isinstance(node, ModelNode)]
    read = {parent for node in models for parent in node.depends_on.nodes}
    marts = {node.name: node.unique_id for node in models if node.fqn[1] == "marts"}
    forgotten = {name for name, unique_id in marts.items() if name not in served().names and unique_id not in read}
    assert not forgotten


def test_history_is_the_same_for_python_and_dbt() -> None:
    assert evaluated("is_backfilled()").strip() == HISTORY_SQL


def test_minutes_of_the_past_are_stored_for_as_long_as_the_series_keep_them() -> None:
    [minutes] = [tier for tier in served().tiers if tier.step == "1m"]
    assert evaluated("minute_days()") == minutes.keep_days


def test_periods_are_whole_in_utc() -> None:
    wednesday = 1_772_582_400_000  # 2026-03-04 00:00 UTC
    assert period_at("week", wednesday) == (wednesday - 2 * DAY_MS, wednesday + 5 * DAY_MS)
    assert period_at("month", wednesday) == (wednesday - 3 * DAY_MS, wednesday + 28 * DAY_MS)
