"""Data quality in Dagster: an asset check per Great Expectations check, an hourly and a daily job, their schedules, the
report.

A child process does the work, so that Great Expectations is not imported here. It reads the served replica; only
storing the suspect rows needs the writer lock, for a moment.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dagster as dg

from orchestration.code_location.upkeep import UPKEEP, mark_alive
from orchestration.config.settings import REPOSITORY, Settings
from orchestration.quality.run import in_words
from orchestration.quality.suites import PERIODS, Check, Period, checks_of
from orchestration.supervise.commands import environ

REPORT = dg.AssetKey(["docs", "quality"])
# After the hourly dbt tests, and after the daily upkeep.
CRONS: dict[Period, str] = {"hourly": "17 * * * *", "daily": "47 4 * * *"}
MAX_RUNTIME_S = 1800


def report_url(settings: Settings, page: str = "index.html") -> str:
    """The URL of a page of the Data Docs in the API."""
    return f"{settings.api_url}/quality/{page}"


def report_asset(settings: Settings) -> dg.AssetSpec:
    """The Data Docs, which every run of the checks updates."""
    return dg.AssetSpec(
        REPORT,
        deps=sorted({dg.AssetKey(list(check.asset)) for period in PERIODS for check in checks_of(period)}),
        group_name="data_quality",
        kinds={"html"},
        description="The data quality report (Great Expectations Data Docs): what is expected of landing and marts, "
        "and what every run found.",
        metadata={"report": dg.MetadataValue.url(report_url(settings))},
    )


def quality_checks(settings: Settings, period: Period) -> dg.AssetChecksDefinition:
    """The asset checks of a period, run together by one process."""
    report = dg.MetadataValue.url(report_url(settings))

    @dg.multi_asset_check(
        name=f"quality_checks_{period}",
        pool=UPKEEP,
        specs=[
            dg.AssetCheckSpec(
                check.name, asset=list(check.asset), description=check.says, metadata={"report": report}, blocking=False
            )
            for check in checks_of(period)
        ],
    )
    def checks(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        mark_alive(settings.dagster_home, context.run.run_id)
        outcomes = _outcomes(settings, period, context)
        context.op_execution_context.log_event(dg.AssetMaterialization(REPORT, metadata={"report": report}))
        by_name = {outcome["check"]: outcome for outcome in outcomes}
        for check in checks_of(period):
            yield _result(settings, check, by_name[check.name])

    return checks


def _outcomes(settings: Settings, period: Period, context: dg.AssetCheckExecutionContext) -> list[dict[str, Any]]:
    with TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        child = subprocess.Popen(
            [sys.executable, "-m", "orchestration.quality.run", period, str(result)],
            env=environ(settings), cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        try:
            output = child.communicate()[0]
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
        if child.returncode != 0:
            raise dg.Failure(f"the {period} checks could not be made:\n{output[-4000:]}")
        context.log.info(output)
        outcomes: list[dict[str, Any]] = json.loads(result.read_text())
        return outcomes


def _result(settings: Settings, check: Check, outcome: dict[str, Any]) -> dg.AssetCheckResult:
    """The asset check result; its description and a metadata table list the first suspect rows."""
    metadata: dict[str, Any] = {
        "report": dg.MetadataValue.url(report_url(settings, outcome["report"])),
        "unexpected rows": outcome["rows"],
    }
    if outcome["suspects"]:
        columns = ("venue", "market_id", "value", "expected", "from_ms", "to_ms")
        metadata |= {
            "venues": ", ".join(outcome["venues"]),
            "marked as suspect": outcome["marked"],
            "suspects": dg.MetadataValue.table(
                [dg.TableRecord({name: suspect[name] or "" for name in columns}) for suspect in outcome["suspects"]],
                schema=dg.TableSchema(
                    [dg.TableColumn(name, "int" if name[-3:] == "_ms" else "string") for name in columns]
                ),
            ),
        }
    return dg.AssetCheckResult(
        asset_key=list(check.asset),
        check_name=check.name,
        passed=outcome["passed"],
        severity=dg.AssetCheckSeverity.ERROR if outcome["blocking"] else dg.AssetCheckSeverity.WARN,
        description=in_words(outcome),
        metadata=metadata,
    )


def quality_schedule(checks: dg.AssetChecksDefinition, period: Period) -> dg.ScheduleDefinition:
    """The job of a period, which runs only its checks, and its schedule."""
    job = dg.define_asset_job(
        f"quality_{period}",
        selection=dg.AssetSelection.checks(checks),
        description=f"Check landing and marts ({period}), mark what is suspect, bring the report up to date.",
        tags={"dagster/max_runtime": MAX_RUNTIME_S},
    )
    return dg.ScheduleDefinition(
        name=f"quality_{period}_schedule", cron_schedule=CRONS[period], job=job,
        default_status=dg.DefaultScheduleStatus.RUNNING,
    )  # fmt: skip
