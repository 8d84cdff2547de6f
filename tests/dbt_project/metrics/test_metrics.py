"""Metrics of the dbt project: complete, made of columns that the series have, and served after one entry."""

import json
import shutil
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
from dbt.cli.main import dbtRunner
from dbt.contracts.graph.manifest import Manifest

from orchestration.publish.publish import read_catalog
from tests.support.pipeline.dbt_project import PROJECT, SILENT, manifest
from tests.support.replica.replica import CATALOG, publish
from tests.support.servers.api_server import free_port, running

ENTRY = """
  - name: oi_coins
    label: Open interest in coins
    description: Open interest, one side, in coins.
    type: simple
    type_params: {measure: open_interest_usd}
    config:
      meta:
        api_name: oi-coins
        unit: coins
        aliases: []
        fields: {v: {column: oi_base}}
        selectors: [market]
        types: [perp]
        endpoints: [perp_tickers, open_interest]
        formula: v(b) = last observed open interest in bucket b.
        caveats: [It does not move with the price.]
        source: Recorded open interest.
        version: 1
        changes: [{version: 1, date: "2026-11-23", change: First definition.}]
"""


def catalog_of(read: Manifest, folder: Path) -> dict[str, dict[str, Any]]:
    """The catalog that a publish makes of dbt's manifest."""
    read.write(str(folder / "manifest.json"))  # type: ignore[no-untyped-call]
    return read_catalog(folder / "manifest.json")


def test_the_catalog_is_made_of_complete_metrics(tmp_path: Path) -> None:
    catalog = catalog_of(manifest(), tmp_path)
    assert catalog == CATALOG, "the replica of the tests has the definitions as publish makes them"
    assert {"price", "oi", "funding", "volume", "liquidations", "taker-flow"} <= set(catalog)
    names = [name for metric, definition in catalog.items() for name in (metric, *definition["aliases"])]
    assert len(names) == len(set(names)), "a name twice"
    columns = {of: manifest().nodes[f"model.tidemark.series_{of}_1m"].columns for of in ("base", "market")}
    for metric, definition in catalog.items():
        for text in ("title", "description", "unit", "formula", "source"):
            assert definition[text], (metric, text)
        assert definition["caveats"], metric
        versions = [change["version"] for change in definition["changes"]]
        assert versions == list(range(definition["version"], 0, -1)), f"{metric}: a version without an entry"
        dates = [date.fromisoformat(change["date"]) for change in definition["changes"]]
        assert dates == sorted(dates, reverse=True), metric
        assert all(change["change"] for change in definition["changes"]), metric
        for field in definition["fields"].values():
            assert len({"column", "sql", "running"} & set(field)) == 1, metric
            if "column" in field:
                assert all(field["column"] in columns[of] for of in definition["selectors"]), metric


def test_every_metric_leads_back_to_the_landing() -> None:
    parents = manifest().parent_map
    for metric in manifest().metrics.values():
        found, wanted = set[str](), {metric.unique_id}
        while wanted:
            found |= wanted
            wanted = {parent for node in wanted for parent in parents[node]} - found
        assert "source.tidemark.landing.responses" in found, metric.name


def test_a_metric_from_a_recorded_column_is_served_after_one_entry(tmp_path: Path) -> None:
    project = tmp_path / "dbt_project"
    shutil.copytree(PROJECT, project, ignore=shutil.ignore_patterns("target", "logs"))
    metrics = project / "models/metrics/_metrics.yml"
    metrics.write_text(metrics.read_text().replace("\nmetrics:\n", f"\nmetrics:\n{ENTRY[1:]}", 1))
    places = ("--project-dir", str(project), "--profiles-dir", str(project), "--target-path", str(tmp_path / "target"))
    read = dbtRunner().invoke(["parse", *places, "--log-path", str(tmp_path / "logs"), *SILENT]).result
    assert isinstance(read, Manifest)
    definition = catalog_of(read, tmp_path)["oi-coins"]
    with duckdb.connect(str(publish(tmp_path / "serving", 1))) as con:
        con.execute("insert into catalog values ('oi-coins', ?)", [json.dumps(definition)])
    with running(tmp_path / "serving", free_port()) as api:
        answer = api.get("/api/series/oi-coins?market=binance:perp:BTCUSDT&range=1h").json
        assert answer["fields"] == ["v"]
        assert set(answer["v"]) == {100.0}
        assert "`oi-coins` (v; coins): Open interest, one side, in coins." in api.get("/openapi.json").body.decode()
