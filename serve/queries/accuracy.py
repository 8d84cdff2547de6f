"""Venues whose recorded values were lately found to differ from their own history, as warnings of tool results."""

from collections.abc import Iterable
from typing import Any

from serve.replica.edition import Reader, literal
from serve.replica.units import UNIT_MS

# The newest compared day of a venue and metric, if it is not older than a week.
SQL = """
select venue, metric, strftime(make_timestamp_ms(t), '%Y-%m-%d') as day, median_difference, allowed_difference
from accuracy
where t > {since}
qualify row_number() over (partition by venue, metric order by t desc) = 1 and median_difference > allowed_difference
order by venue, metric
"""


def warn_of_inaccuracy(
    db: Reader, metrics: Iterable[str], base: str | None, venue: str | None = None
) -> list[dict[str, Any]]:
    """One warning that names the venues of the coin (or the one venue) and how far off they were; none if none was."""
    if not db.once("accuracy has limits", lambda: _has_limits(db)):
        return []
    wanted = set(metrics)
    found = [row for row in db.once("inaccurate", lambda: _inaccurate(db)) if row["metric"] in wanted]
    if found and base is not None:
        venues = db.once(("venues", base), lambda: _venues_of(db, base))
        found = [row for row in found if row["venue"] in venues]
    if venue is not None:
        found = [row for row in found if row["venue"] == venue]
    if not found:
        return []
    each = ", ".join(
        f"{row['venue']} {row['metric']} {100 * row['median_difference']:.2g} % on {row['day']}"
        f" (allowed {100 * row['allowed_difference']:.2g} %)"
        for row in found
    )
    message = f"Half of the recorded values differed by more than this from the exchange's own history: {each}."
    return [{"code": "inaccurate", "message": f"{message} See /api/accuracy."}]


def _inaccurate(db: Reader) -> list[dict[str, Any]]:
    return db.rows(SQL.format(since=db.edition.as_of_ms - 7 * UNIT_MS["d"]))


def _venues_of(db: Reader, base: str) -> set[str]:
    return {row["venue"] for row in db.rows(f"select distinct venue from market_index where base = {literal(base)}")}


def _has_limits(db: Reader) -> bool:
    """Whether the replica is of a version that has limits: an earlier one is served until the first publish."""
    of = "table_name = 'accuracy' and column_name = 'allowed_difference'"
    return bool(db.value(f"select 1 from duckdb_columns() where {of}"))
