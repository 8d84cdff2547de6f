"""Runs the checks with Great Expectations: a DuckDB data source, a suite per table, a checkpoint, Data Docs.

The Great Expectations context is kept in memory because every run defines it from the suites again; validation results
and Data Docs are files, so that the docs show the history.
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import great_expectations as gx
import sqlalchemy as sa
from great_expectations.checkpoint import UpdateDataDocsAction
from great_expectations.data_context.types.base import DataContextConfig
from great_expectations.datasource.fluent import SQLDatasource
from great_expectations.execution_engine import SqlAlchemyExecutionEngine
from great_expectations.expectations.expectation import Expectation

from orchestration.config.clock import HOUR_MS, MINUTE_MS
from orchestration.config.settings import Settings
from orchestration.quality.facts import Span
from orchestration.quality.pages import ExpectInRange, ExpectNoSuspects, ExpectNotBefore
from orchestration.quality.suites import Between, Check, Expected, NotBefore, Period, Rows, checks_of
from orchestration.quality.suspects import Suspect

INDEX = ["venue", "market_id", "t"]
STEP_MS = {"hourly": MINUTE_MS, "daily": HOUR_MS}
# The number of runs per period that the Data Docs keep.
RUNS_KEPT = {"hourly": 48, "daily": 30}
# Suspect rows per check; more marks than this would be larger than the data that they mark.
MOST_SUSPECTS = 20_000


class DuckDBEngine(SqlAlchemyExecutionEngine):
    """One connection for all queries: a DuckDB result ends with its connection, and is read after the query.
    (SQLAlchemy's StaticPool does not help: closing the connection ends the result too.)"""

    kept: sa.Connection | None = None

    @contextmanager
    def get_connection(self) -> Iterator[sa.Connection]:
        self.kept = self.kept or self.engine.connect()
        yield self.kept


class DuckDBFacts(SQLDatasource):
    """A DuckDB file as a data source of Great Expectations."""

    type: Literal["duckdb_facts"] = "duckdb_facts"

    @property
    def execution_engine_type(self) -> Any:
        return DuckDBEngine


@dataclass
class Finding:
    """The outcome of one check: its suspect rows, or the error that kept it from running; `report` is its page."""

    check: Check
    report: str = ""
    rows: int = 0
    suspects: list[Suspect] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not self.rows and not self.errors


def validate(settings: Settings, period: Period, facts: Path, span: Span) -> list[Finding]:
    """Run all checks of a period and update the Data Docs."""
    context = _context(settings)
    source = context.data_sources.add_duckdb_facts(
        "facts",
        connection_string=f"duckdb:///{facts}",
        create_temp_table=False,
        kwargs={
            "connect_args": {"read_only": True, "config": dict(settings.quality_resources)},
        },
    )
    checks = checks_of(period)
    definitions = []
    for table in dict.fromkeys(check.table for check in checks):
        suite = gx.ExpectationSuite(name=f"{period}_{table}")
        for check in checks:
            if check.table == table:
                for at, expected in enumerate(check.expects):
                    suite.add_expectation(_expectation(check, at, expected))
        batch = source.add_table_asset(table, table_name=table).add_batch_definition_whole_table("all")
        definition = gx.ValidationDefinition(name=suite.name, data=batch, suite=context.suites.add(suite))
        definitions.append(context.validation_definitions.add(definition))
    checkpoint = context.checkpoints.add(
        gx.Checkpoint(
            name=period,
            validation_definitions=definitions,
            actions=[UpdateDataDocsAction(name="data docs")],
            result_format={
                # Not COMPLETE, which holds every wrong value in memory: the query that finds them is enough.
                "result_format": "SUMMARY",
                "unexpected_index_column_names": INDEX,
                "return_unexpected_index_query": True,
            },
        )
    )
    name = datetime.fromtimestamp(span.to_ms / 1000, UTC).strftime(f"{period}-%Y%m%dT%H%MZ")
    outcome = checkpoint.run(run_id=gx.RunIdentifier(run_name=name))
    engine = source.get_execution_engine()
    findings = _findings(context, checks, outcome, engine, STEP_MS[period], settings.quality_docs)
    _forget_old_runs(settings.quality, period)
    return findings


def _context(settings: Settings) -> Any:
    """A context that stores results and Data Docs in the state folder and sends no usage data."""

    def files(folder: Path) -> dict[str, Any]:
        return {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(folder)}

    pages = {"module_name": "orchestration.quality.pages"}
    config = DataContextConfig(
        config_version=4.0,
        expectations_store_name="expectations",
        validation_results_store_name="results",
        checkpoint_store_name="checkpoint_store",
        stores={
            "expectations": {"class_name": "ExpectationsStore"},
            "results": {"class_name": "ValidationResultsStore", "store_backend": files(settings.quality / "results")},
            "checkpoint_store": {"class_name": "CheckpointStore"},
            "validation_definition_store": {"class_name": "ValidationDefinitionStore"},
        },
        data_docs_sites={
            "quality": {
                "class_name": "SiteBuilder",
                "site_name": "Tidemark data quality",
                "show_how_to_buttons": False,
                "store_backend": files(settings.quality_docs),
                "site_index_builder": {
                    "class_name": "DefaultSiteIndexBuilder",
                    "show_cta_footer": False,
                    "view": {**pages, "class_name": "IndexPage"},
                },
                "site_section_builders": {
                    "expectations": {
                        "class_name": "DefaultSiteSectionBuilder",
                        "view": {**pages, "class_name": "Page"},
                    },
                    "validations": {"class_name": "DefaultSiteSectionBuilder", "view": {**pages, "class_name": "Page"}},
                    "profiling": "None",
                },
            }
        },
        analytics_enabled=False,
        progress_bars={"globally": False},
    )
    return gx.get_context(mode="ephemeral", project_config=config)


def _expectation(check: Check, at: int, expected: Expected) -> Expectation:
    common: dict[str, Any] = {
        "meta": {"check": check.name, "at": at},
        "severity": "critical" if check.blocking else "warning",
    }
    match expected:
        case Between(column, low, high, above):
            return ExpectInRange(column=column, min_value=low, max_value=high, strict_min=above, **common)
        case NotBefore(column, earlier):
            return ExpectNotBefore(
                column_A=column, column_B=earlier, or_equal=True, ignore_row_if="either_value_is_missing", **common
            )
        case Rows(says, sql):
            return ExpectNoSuspects(unexpected_rows_query=sql, description=says, **common)


def _findings(
    context: Any, checks: Sequence[Check], outcome: Any, engine: DuckDBEngine, step_ms: int, docs: Path
) -> list[Finding]:
    findings = {check.name: Finding(check) for check in checks}
    pages = {
        identifier: Path(site["site_url"].removeprefix("file://"))
        for identifier in outcome.run_results
        for site in context.get_docs_sites_urls(resource_identifier=identifier)
    }
    for identifier, validated in outcome.run_results.items():
        for result in validated.results:
            meta = result.expectation_config.meta
            finding = findings[meta["check"]]
            finding.report = str(pages[identifier].relative_to(docs))
            if result.success:
                continue
            if problem := _problem(result.exception_info):
                finding.errors.append(problem)
                continue
            finding.rows += result.result.get("unexpected_count", result.result.get("observed_value")) or 0
            query = _suspects_query(finding.check, finding.check.expects[meta["at"]], result.result, step_ms)
            rows = engine.execute_query(sa.text(query)).fetchall()
            finding.suspects += [Suspect(finding.check.name, *row) for row in rows]
    return list(findings.values())


def _problem(info: dict[str, Any]) -> str | None:
    """The errors inside Great Expectations, which it reports per expectation or per metric of one."""
    reported = [info] if "raised_exception" in info else list(info.values())
    messages = [one["exception_message"] for one in reported if one.get("raised_exception")]
    return "; ".join(dict.fromkeys(messages)) or None


def _suspects_query(check: Check, expected: Expected, result: dict[str, Any], step_ms: int) -> str:
    """All rows that failed an expectation, with adjacent rows merged into one period that has the first one's value."""
    if isinstance(expected, Rows):
        rows = expected.sql.format(batch=check.table)
    else:
        # Great Expectations' own query for the failing rows: their index, and the columns of the expectation.
        query = result["unexpected_index_query"].rstrip("; \n")
        rows = (
            f"select venue, market_id, t as from_ms, t + {step_ms} as to_ms, "
            f"'{expected.column} ' || {expected.column} as value, '{expected.expected}' as expected from ({query})"
        )
    return f"""
        select market_id, venue, min(from_ms), max(to_ms), min_by(value, from_ms), min_by(expected, from_ms)
        from (
            select *, count_if(opens) over (partition by venue, market_id, part order by from_ms, to_ms) as island
            from (
                select *, (from_ms > max(to_ms) over (
                    partition by venue, market_id, part order by from_ms, to_ms
                    rows between unbounded preceding and 1 preceding)) is not false as opens
                from (select *, if(market_id is null, value, '') as part from ({rows}))
            )
        )
        group by venue, market_id, part, island order by min(from_ms), venue, market_id limit {MOST_SUSPECTS}
    """


def _forget_old_runs(folder: Path, period: Period) -> None:
    """Delete the results and pages of the oldest runs; the next index no longer lists them."""
    for suite in (folder / "results").glob(f"{period}_*"):
        runs = sorted(run.name for run in suite.iterdir() if run.is_dir())
        for run in runs[: -RUNS_KEPT[period]]:
            shutil.rmtree(suite / run)
            shutil.rmtree(folder / "docs" / "validations" / suite.name / run, ignore_errors=True)
