"""`quality.suspect_rows`: rows that failed a check. They are marked and not hidden; the table is in the warehouse and
published.

A run replaces the marks of its period for the checks that ran: rows that are no longer found suspect lose their mark.
"""

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass

import duckdb

from orchestration.config.clock import DAY_MS
from orchestration.config.settings import Settings
from orchestration.quality.facts import Span
from orchestration.warehouse.access import open_warehouse, warehouse_lock
from orchestration.warehouse.writer import Report

TABLE = "quality.suspect_rows"
KEPT_MS = 90 * DAY_MS
# The daily upkeep holds the lock for minutes; marking does not wait that long.
WAIT_S = 900.0


@dataclass(frozen=True)
class Suspect:
    """A period of a market (or, without one, of a venue) in which a check found implausible data."""

    check: str
    market_id: str | None
    venue: str
    from_ms: int
    to_ms: int
    value: str
    expected: str


def mark(
    settings: Settings, checks: Iterable[str], span: Span, suspects: Sequence[Suspect], report: Report = print
) -> int:
    """Replace the marks of these checks in the period; returns how many rows are marked in it."""
    with (
        warehouse_lock(settings, "quality", wait_s=WAIT_S, report=report),
        open_warehouse(settings, checkpoint=False) as con,
    ):
        replace(con, checks, span, suspects)
    return len(suspects)


def replace(con: duckdb.DuckDBPyConnection, checks: Iterable[str], span: Span, suspects: Sequence[Suspect]) -> None:
    """`mark` on an open connection."""
    names = {"checks": list(checks)}
    con.execute("begin")
    con.execute(f'delete from {TABLE} where list_contains($checks, "check") and from_ms >= {span.from_ms}', names)
    # A mark that began before the period keeps the part before it.
    con.execute(
        f'update {TABLE} set to_ms = {span.from_ms} where list_contains($checks, "check") and to_ms > {span.from_ms}',
        names,
    )
    con.execute(f"delete from {TABLE} where to_ms < {span.now_ms - KEPT_MS}")
    if suspects:
        columns = [list(column) for column in zip(*map(astuple, suspects), strict=True)]
        con.execute(
            f"insert into {TABLE} select unnest(?), unnest(?::varchar[]), unnest(?), "
            f"greatest(unnest(?), {span.from_ms}), unnest(?), unnest(?), unnest(?), {span.now_ms}",
            columns,
        )
    con.execute("commit")
