"""A run of the checks of a period, as a process of its own: copy the facts, validate them, mark what is suspect.

`python -m orchestration.quality.run hourly RESULT.json`; the settings come from the environment.
"""

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any, cast

from orchestration.config.settings import Settings
from orchestration.quality.declared import Period
from orchestration.quality.facts import collect
from orchestration.quality.suspects import mark
from orchestration.warehouse.writer import PipelineError, Say

# How many suspects a result names one by one; all of them are in the table.
NAMED = 50


def run(settings: Settings, period: Period, *, now_ms: int | None = None, say: Say = print) -> list[dict[str, Any]]:
    """Make the checks of a period; returns each one's outcome in words and numbers."""
    facts, span = collect(settings, period, now_ms)
    # Read when it is imported: nothing may be sent to anybody.
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    from orchestration.quality.validation import validate

    findings = validate(settings, period, facts, span)
    suspects = [suspect for finding in findings for suspect in finding.suspects]
    # A check that could not be made says nothing about the period: its earlier marks stay.
    made = [finding.check.name for finding in findings if not finding.errors]
    mark(settings, made, span, suspects, say)
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
    """What a check found, naming venues, markets and values."""
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
    """The process that Dagster's checks start."""
    period, result = cast(Period, sys.argv[1]), Path(sys.argv[2])
    try:
        result.write_text(json.dumps(run(Settings.from_env(), period)))
    except PipelineError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
