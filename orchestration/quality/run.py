"""A run of the checks of a period, in a separate process: copy the data, validate it, mark suspect rows.

`python -m orchestration.quality.run hourly RESULT.json`; the settings come from the environment.
"""

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any, cast

from orchestration.config.settings import Settings
from orchestration.quality.facts import collect
from orchestration.quality.suites import Period
from orchestration.quality.suspects import mark
from orchestration.warehouse.writer import PipelineError, Report

# The number of suspect rows that a result lists; the table has all of them.
NAMED = 50


def run(
    settings: Settings, period: Period, *, now_ms: int | None = None, report: Report = print
) -> list[dict[str, Any]]:
    """Run the checks of a period; returns the outcome of each in words and numbers."""
    facts, span = collect(settings, period, now_ms)
    # Great Expectations reads this when it is imported: it must not send usage data.
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    from orchestration.quality.validation import validate

    findings = validate(settings, period, facts, span)
    suspects = [suspect for finding in findings for suspect in finding.suspects]
    # A check that failed to run says nothing about the period: its earlier marks stay.
    made = [finding.check.name for finding in findings if not finding.errors]
    mark(settings, made, span, suspects, report)
    facts.unlink(missing_ok=True)
    return [
        {
            "check": finding.check.name,
            "asset": list(finding.check.asset),
            "passed": finding.passed,
            "blocking": finding.check.blocking or bool(finding.errors),
            "rows": finding.rows,
            "marked": len(finding.suspects),
            "venues": Counter(suspect.venue for suspect in finding.suspects),
            "suspects": [vars(suspect) for suspect in finding.suspects[:NAMED]],
            "errors": finding.errors,
            "report": finding.report,
        }
        for finding in findings
    ]


def in_words(outcome: dict[str, Any], named: int = 5) -> str:
    """The findings of a check: venues, markets and values."""
    if outcome["errors"]:
        return "could not be made: " + "; ".join(outcome["errors"])
    if outcome["passed"]:
        return "as expected"
    first = [
        f"{suspect['market_id'] or suspect['venue']}: {suspect['value']} (expected: {suspect['expected']})"
        for suspect in outcome["suspects"][:named]
    ]
    more = outcome["marked"] - len(first)
    venues = ", ".join(f"{venue} {count}" for venue, count in outcome["venues"].items())
    return "; ".join(first) + (f"; and {more} more" if more > 0 else "") + f" [marked as suspect: {venues}]"


def main() -> int:
    """The entry point of the process that Dagster's checks start."""
    period, result = cast(Period, sys.argv[1]), Path(sys.argv[2])
    try:
        result.write_text(json.dumps(run(Settings.from_env(), period)))
    except PipelineError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
