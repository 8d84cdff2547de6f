"""All data quality checks of the landing and the marts. A `Check` is an asset check in Dagster.

A check has expectations on one table of the copied data (see `facts` for the tables and their columns). `Rows` is SQL
that returns bad rows, as venue, market_id (null: the venue as a whole), from_ms, to_ms, value and expected. A failing
check lists these rows and marks them as suspect. `{batch}` is the check's table; `span` is the checked period: from_ms,
to_ms, day_ms (a day before from_ms) and now_ms (the clock).
"""

from orchestration.quality.suites.check import PERIODS, Between, Check, Expected, NotBefore, Period, Rows
from orchestration.quality.suites.days import DAY_CHECKS
from orchestration.quality.suites.landing import LANDING_CHECKS
from orchestration.quality.suites.minutes import INDEX_CHECKS, MINUTE_CHECKS

__all__ = ["CHECKS", "PERIODS", "Between", "Check", "Expected", "NotBefore", "Period", "Rows", "checks_of"]

CHECKS: tuple[Check, ...] = (*LANDING_CHECKS, *MINUTE_CHECKS, *INDEX_CHECKS, *DAY_CHECKS)


def checks_of(period: Period) -> tuple[Check, ...]:
    """The checks that run every hour, or every day."""
    return tuple(check for check in CHECKS if check.period == period)
