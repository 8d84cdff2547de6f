"""The asset check for the landing's freshness: whether the recorder is alive, by the limits of the dbt source.

Checks of tables and columns are dbt tests, which dagster-dbt shows as checks of the models.
"""

import json

import dagster as dg

from orchestration.code_location.lineage import LANDING
from orchestration.code_location.upkeep import UPKEEP
from orchestration.config.settings import Settings
from orchestration.warehouse.access import warehouse_lock
from orchestration.warehouse.dbt_runner.process import start_dbt


def freshness_check(settings: Settings) -> dg.AssetChecksDefinition:
    """Run `dbt source freshness` on the landing."""

    @dg.asset_check(
        asset=LANDING,
        name="recorder_is_alive",
        pool=UPKEEP,
        description="The newest built minute is not older than the dbt source's freshness limits.",
    )
    def recorder_is_alive(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        with warehouse_lock(settings, "dbt source freshness", report=context.log.info) as lock:
            process = start_dbt(settings, ["source", "freshness"], lock=lock)
            output, _ = process.communicate()
        found = [event for line in output.splitlines() if (event := _freshness(line))]
        if not found:
            raise dg.Failure(f"dbt reported no freshness:\n{output.decode(errors='replace')}")
        worst = max(found, key=lambda event: float(event.get("age") or 0.0))
        severity = dg.AssetCheckSeverity.WARN if worst["status"] == "warn" else dg.AssetCheckSeverity.ERROR
        return dg.AssetCheckResult(
            passed=worst["status"] == "pass", severity=severity, metadata={"age (s)": float(worst.get("age") or 0.0)}
        )

    return recorder_is_alive


def _freshness(line: bytes) -> dict[str, str] | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event["data"] if event["info"]["name"] == "LogFreshnessResult" else None
