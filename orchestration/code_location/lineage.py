"""External assets at both ends of the lineage, which Dagster shows but does not build: venues, landing, API routes and
tools."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import dagster as dg

from ingest.venues import VENUES

LANDING = dg.AssetKey(["landing", "responses"])
HISTORY = dg.AssetKey(["landing", "history"])
EDITION = dg.AssetKey(["serving", "edition"])


def venue_key(name: str) -> dg.AssetKey:
    """The asset key of an exchange."""
    return dg.AssetKey(["venue", name])


def venues() -> list[dg.AssetSpec]:
    """The exchanges, each with the endpoints that are requested from it."""
    return [
        dg.AssetSpec(
            venue_key(venue.name),
            group_name="venues",
            kinds={"api"},
            description=f"The exchange {venue.name}. The recorder requests every minute: "
            f"{', '.join(sorted({endpoint.name for endpoint in venue.endpoints}))}."
            + (
                f" It subscribes to: {', '.join(sorted({stream.name for stream in venue.streams}))}."
                * bool(venue.streams)
            ),
        )
        for venue in VENUES
    ]


def landing() -> list[dg.AssetSpec]:
    """The raw responses, and the pipeline's own tables that the models read."""
    responses = dg.AssetSpec(
        LANDING,
        deps=[*(venue_key(venue.name) for venue in VENUES), HISTORY],
        group_name="landing",
        kinds={"parquet", "dlt"},
        description="Raw responses as the venues sent them, one row per response, written by the recorder (a process "
        "of its own) as Parquet loads. A load counts once dlt has committed it. Every minute's run reports the newest.",
        freshness_policy=dg.FreshnessPolicy.time_window(
            fail_window=timedelta(minutes=10), warn_window=timedelta(minutes=3)
        ),
    )
    tables = {
        "window_files": "The landed files that the current build reads.",
        "window_minutes": "The recorded minutes that the current build makes.",
        "window_built": "The backfilled responses in these minutes that are built and not read again.",
        "late_minutes": "The built minutes whose late bars the series are to have within ten minutes.",
        "loads": "The landed files that are built.",
        "builds": "The minutes that each build made and touched: the watermark.",
        "quarantine": "The bodies that are set aside because a model failed with them.",
        "upgrade_days": "The days that are built again because the models have changed since they were built.",
        "settings": "What the pipeline remembers between builds, by name.",
    }
    pipeline = [
        dg.AssetSpec(["pipeline", name], deps=[LANDING], group_name="landing", kinds={"duckdb"}, description=text)
        for name, text in tables.items()
    ]
    suspects = dg.AssetSpec(
        ["quality", "suspect_rows"],
        deps=[LANDING, ["series_market_1m"], ["series_market_1h"], ["market_index"]],
        group_name="data_quality",
        kinds={"duckdb"},
        description="Rows that the data quality checks found suspect; the checks write them every hour and every day.",
    )
    return [responses, *pipeline, suspects]


def exposures(manifest: Mapping[str, Any], api: str) -> list[dg.AssetSpec]:
    """Readers of the edition: dbt's exposures (the API's routes and the MCP tools), which dagster-dbt does not show.

    Each links to a request of the API at this address.
    """
    return [
        dg.AssetSpec(
            ["exposure", exposure["name"]],
            deps=[EDITION, *sorted(dg.AssetKey(name) for name in _models(manifest, exposure))],
            group_name="mcp_tools" if exposure["url"] == "/mcp" else "api_routes",
            kinds={"api"},
            metadata={
                "request": dg.MetadataValue.url(api + exposure["url"]),
                "explorer": dg.MetadataValue.url(f"{api}/catalog"),
            },
            description=f"**{exposure['label']}** reads the published edition. {exposure['description']}",
        )
        for exposure in manifest["exposures"].values()
    ]


def _models(manifest: Mapping[str, Any], node: Mapping[str, Any]) -> set[str]:
    """The models that an exposure or a metric depends on, directly or through metrics."""
    found: set[str] = set()
    for parent in node["depends_on"]["nodes"]:
        if model := manifest["nodes"].get(parent):
            found.add(model["name"])
        elif through := manifest["metrics"].get(parent) or manifest["semantic_models"].get(parent):
            found |= _models(manifest, through)
    return found
