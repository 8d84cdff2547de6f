"""GET /api/status: how old the served state is and what each venue's recording last did."""

import time
from typing import Any

from serve.edition import Reader
from serve.endpoint import endpoint
from serve.errors import Unavailable
from serve.params import Schema, Values
from serve.shape import Body, json_body

UNHEALTHY_AFTER_S = 180
SUSPECT_HOURS = 24
SUSPECTS = """
select "check", venue, count(*) as rows, max(to_ms) as last_ms from suspect_rows
where to_ms > ? group by "check", venue order by rows desc, "check", venue
"""
SECONDS_OR_NULL = {"type": ["number", "null"]}
MS_OR_NULL = {"type": ["integer", "null"]}
SCHEMA: Schema = {
    "type": "object",
    "required": ["state", "edition", "as_of", "age_s", "recorder_lag_s", "build_lag_s", "venues"],
    "properties": {
        "state": {"enum": ["healthy", "unhealthy"], "description": f"unhealthy when older than {UNHEALTHY_AFTER_S} s."},
        "edition": MS_OR_NULL,
        "as_of": {**MS_OR_NULL, "description": "Time of the newest data, UTC epoch ms."},
        "published": MS_OR_NULL,
        "recorded_since": MS_OR_NULL,
        "age_s": {**SECONDS_OR_NULL, "description": "Age of the newest data now."},
        "recorder_lag_s": {**SECONDS_OR_NULL, "description": "Age of the newest minute that a venue answered well."},
        "build_lag_s": {**SECONDS_OR_NULL, "description": "From the newest data to its publication."},
        "venues": {
            "type": "array",
            "items": {"type": "object", "required": ["venue", "last_good_ms", "last_error"]},
        },
        "suspects": {
            "type": "array",
            "description": f"What the data quality checks marked as suspect in the last {SUSPECT_HOURS} hours.",
            "items": {"type": "object", "required": ["check", "venue", "rows", "last_ms"]},
        },
        "db": {"const": False},
        "error": {"type": "string", "description": "Why nothing can be read."},
    },
}


def nothing_readable(values: Values, outage: Unavailable) -> Body:
    """The same shape without data."""
    nulls = dict.fromkeys(("edition", "as_of", "published", "recorded_since", "age_s", "recorder_lag_s", "build_lag_s"))
    return json_body(
        {"state": "unhealthy", **nulls, "venues": [], "suspects": [], "db": False, "error": str(outage)}, degraded=True
    )


# Not counted: whoever watches a service asks all the time.
@endpoint("/api/status", ttl=None, budget=None, statuses=(200, 400), schema=SCHEMA, offline=nothing_readable)
def status(query: Values, db: Reader) -> Body:
    """State of the service: edition, its age, recorder and build lag, and each venue's last good minute and error, and
    what the quality checks marked as suspect."""
    now = time.time() * 1000
    edition = db.edition
    venues: list[dict[str, Any]] = db.rows("select * from recording_status order by venue")
    good = [venue["last_good_ms"] for venue in venues if venue["last_good_ms"] is not None]
    age_s = _seconds(now - edition.as_of_ms)
    return json_body(
        {
            "state": "healthy" if age_s <= UNHEALTHY_AFTER_S else "unhealthy",
            "edition": edition.edition_id,
            "as_of": edition.as_of_ms,
            "published": edition.published_ms,
            "recorded_since": edition.recorded_since_ms,
            "age_s": age_s,
            "recorder_lag_s": _seconds(now - max(good)) if good else None,
            "build_lag_s": _seconds(edition.published_ms - edition.as_of_ms),
            "venues": venues,
            "suspects": _suspects(db),
        }
    )


def _suspects(db: Reader) -> list[dict[str, Any]]:
    # A replica of an earlier version is served until the first publish.
    if not db.value("select 1 from duckdb_tables() where table_name = 'suspect_rows'"):
        return []
    return db.rows(SUSPECTS, [db.edition.as_of_ms - SUSPECT_HOURS * 3_600_000])


def _seconds(ms: float) -> float:
    return round(ms / 1000, 3)
