"""Add history to a warehouse: its newest minute repeated over the days before it, with other numbers in each bucket."""

from pathlib import Path

import duckdb

STEPS_MS = {
    "1m": 60_000,
    "5m": 300_000,
    "15m": 900_000,
    "1h": 3_600_000,
    "4h": 14_400_000,
    "1d": 86_400_000,
}
# What the tiers keep by default: more would measure rows that the product drops.
KEPT_DAYS = {"1m": 7, "5m": 30, "15m": 30}
MOVING = ("price", "volume_usd", "oi_usd", "oi_base", "funding_8h", "liq_long_usd", "liq_short_usd")
DAY_MS = 86_400_000


def fill(warehouse: Path, days: int) -> dict[str, int]:
    """Write `days` days of history into every series tier; returns the rows of each tier table."""
    con = duckdb.connect(
        str(warehouse), config={"threads": 2, "preserve_insertion_order": False, "memory_limit": "4GB"}
    )
    try:
        for step, width in STEPS_MS.items():
            for subject, key in (("market", "market_id"), ("base", "base, type")):
                _repeat(con, f"series_{subject}_{step}", key, width, min(days, KEPT_DAYS.get(step, days)))
        con.execute("checkpoint")
        tables = [f"series_{subject}_{step}" for subject in ("market", "base") for step in STEPS_MS]
        return {table: con.sql(f"select count(*) from {table}").fetchall()[0][0] for table in tables}
    finally:
        con.close()


def _repeat(con: duckdb.DuckDBPyConnection, table: str, key: str, width: int, days: int) -> None:
    """Copy the newest row of each key into every earlier bucket, day by day as a recorder would have written it.

    History that the recorded minute itself has is removed first: it is in the same buckets.
    """
    con.execute(f"delete from {table} where source = 'backfilled'")
    con.execute(f"create or replace temp table newest as select distinct on ({key}) * from {table} order by t desc")
    first = con.sql(f"select min(t) from {table}").fetchall()[0][0]
    moved = ", ".join(
        f"{name} * (0.9 + hash({key}, b) % 2000 / 10000.0) as {name}" for name in MOVING if name in _columns(con, table)
    )
    for day in range(days, 0, -1):
        end = first - (day - 1) * DAY_MS
        start = (end - DAY_MS + width - 1) // width * width
        con.execute(
            f"insert into {table} by name select n.* replace (b as t, {moved}) "
            f"from range({start}, {end}, {width}) as buckets(b), newest as n"
        )


def _columns(con: duckdb.DuckDBPyConnection, table: str) -> set[str]:
    return {row[0] for row in con.sql(f"describe {table}").fetchall()}
