"""Served outputs as assets: the published edition, the bulk files and the generated dbt docs."""

from typing import Any

import dagster as dg

from orchestration.code_location.lineage import EDITION
from orchestration.code_location.minute import MINUTES, published
from orchestration.code_location.upkeep import UPKEEP, mark_alive
from orchestration.config.settings import Settings
from orchestration.publish.bulk import write_bulk
from orchestration.warehouse.dbt_runner.docs import make_docs
from orchestration.warehouse.dbt_runner.process import prepare_manifest
from orchestration.warehouse.served import read_served

# The first pass over a history of years takes longer than an hour, in which the docs are made.
BULK = "bulk"


def _published(settings: Settings) -> list[dg.AssetKey]:
    """The tables that a replica copies."""
    served = read_served(prepare_manifest(settings))
    return [dg.AssetKey(name) for name in served.names if name not in served.views]


def edition_asset(settings: Settings) -> dg.AssetsDefinition:
    """The published edition."""

    @dg.asset(
        key=EDITION,
        deps=_published(settings),
        group_name="serving",
        pool=MINUTES,
        kinds={"duckdb"},
        description="The served tables: an edition is one consistent state of all marts. A publish copies what changed "
        "into the replica that nobody reads, then points the API to it. The job `minute` publishes every minute.",
    )
    def edition(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
        mark_alive(settings.dagster_home, context.run.run_id)
        return dg.MaterializeResult(metadata=published(settings, context) or {"unchanged": True})

    return edition


def bulk_asset(settings: Settings) -> dg.AssetsDefinition:
    """The bulk files."""

    @dg.asset(
        key=["serving", "bulk"],
        deps=[EDITION],
        group_name="serving",
        pool=BULK,
        kinds={"parquet"},
        description="The finished days of the series as Parquet files, which the API serves at /api/bulk. The job "
        "`bulk` writes every day what is new and what has changed.",
    )
    def bulk(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
        mark_alive(settings.dagster_home, context.run.run_id)
        return dg.MaterializeResult(metadata=write_bulk(settings, report=context.log.info)._asdict())

    return bulk


def docs_asset(settings: Settings) -> dg.AssetsDefinition:
    """The generated dbt docs."""

    @dg.asset(
        key=["docs", "dbt"],
        deps=_published(settings),
        group_name="serving",
        pool=UPKEEP,
        kinds={"html"},
        description="What every table, column and metric means, generated from the dbt project and the warehouse.",
    )
    def docs(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
        mark_alive(settings.dagster_home, context.run.run_id)
        return dg.MaterializeResult(metadata={"folder": str(make_docs(settings))})

    return docs
