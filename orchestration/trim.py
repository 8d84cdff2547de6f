"""What the warehouse forgets: the fine tables beyond what is served, and the pipeline's notes for publishing.

Nothing is lost: the landing keeps every response. Late rows for a trimmed day make its build take the whole day again
(see windows), because the coarse tables, which stay, are made from the fine ones.
"""

import time

from orchestration.served import DAY_MS, HISTORIES, HOUR_MS, TIERS, stored
from orchestration.settings import Settings
from orchestration.writer import connection

# A replica that has not been brought up to date for this long is made anew.
BUILDS_KEPT_DAYS = 3
# Kept longer than served, so that a replica made anew finds everything.
MARGIN_DAYS = 2


def trim_warehouse(settings: Settings, now_ms: int | None = None) -> int:
    """Delete what is too old; returns the number of rows. The caller holds the writer lock."""
    now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    today = now_ms - now_ms % DAY_MS
    removed = 0
    with connection(settings.warehouse) as con:
        cuts = {tier.step: today - (tier.keep_days + MARGIN_DAYS) * DAY_MS for tier in TIERS if tier.keep_days}
        minutes, xray_days = cuts["1m"], HISTORIES["xray_risk"].keep_days or 0
        wanted = [
            ("int_market_minutes", f"minute_ms < {minutes}"),
            ("int_market_bars", f"minute_ms < {minutes}"),
            # What is told of an hour and more stays, as the tiers of it do.
            ("int_ratios", f"t < {cuts['5m']} and period_ms < {HOUR_MS}"),
            ("xray_risk", f"t < {today - (xray_days + MARGIN_DAYS) * DAY_MS}"),
        ]
        wanted += [
            (f"{subject.name}_{tier.step}", f"t < {cuts[tier.step]}")
            for tier, subject in stored(TIERS)
            if tier.step in cuts
        ]
        made = {name for (name,) in con.execute("select table_name from duckdb_tables()").fetchall()}
        con.execute("begin")
        for table, where in wanted:
            if table not in made:
                continue  # a model that is newer than the last build
            deleted = con.execute(f"delete from main.{table} where {where}").fetchone()
            removed += deleted[0] if deleted else 0
        con.execute(
            "insert or replace into pipeline.settings "
            "select 'trimmed_before_ms', greatest($cut, coalesce(max(value::bigint), 0))::varchar "
            "from pipeline.settings where name = 'trimmed_before_ms'",
            {"cut": minutes},
        )
        old = now_ms - BUILDS_KEPT_DAYS * DAY_MS
        newest = "(select max(build_id) from pipeline.builds)"
        con.execute(f"delete from pipeline.builds where finished_ms < {old} and build_id < {newest}")
        for notes in ("late_rows", "late_ranges"):
            con.execute(f"delete from pipeline.{notes} where build_id not in (select build_id from pipeline.builds)")
        con.execute("commit")
        con.execute("checkpoint")
    return removed
