"""What is expected of the landing and the marts: all of it is in this folder. A `Check` is an asset check in Dagster.

A check is made of expectations on one table of facts (see `facts` for the tables and their columns). `Rows` is SQL that
returns what should not be there, as venue, market_id (null: the venue as a whole), from_ms, to_ms, value and expected.
These rows are what a failing check names and what it marks as suspect. `{batch}` is the check's table; `span` is the
period looked at: from_ms, to_ms, day_ms (a day before from_ms) and now_ms (the clock).
"""

from orchestration.quality.declared.check import PERIODS, Between, Check, Expected, NotBefore, Period, Rows
from orchestration.quality.declared.days import DAY_CHECKS
from orchestration.quality.declared.landing import LANDING_CHECKS
from orchestration.quality.declared.minutes import INDEX_CHECKS, MINUTE_CHECKS

__all__ = ["CHECKS", "PERIODS", "Between", "Check", "Expected", "NotBefore", "Period", "Rows", "checks_of"]

CHECKS: tuple[Check, ...] = (*LANDING_CHECKS, *MINUTE_CHECKS, *INDEX_CHECKS, *DAY_CHECKS)


def checks_of(period: Period) -> tuple[Check, ...]:
    """The checks that run every hour, or every day."""
    return tuple(check for check in CHECKS if check.period == period)
