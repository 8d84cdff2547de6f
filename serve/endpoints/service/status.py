"""GET /api/status: the age of the served state, the outcome of each venue's last recording, the progress of the
backfill and of an upgrade."""

import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from serve.contract.endpoint import endpoint
from serve.contract.parameters import Values
from serve.contract.schemas import Schema
from serve.contract.serialize import Body, json_body
from serve.replica.edition import Reader
from serve.replica.unavailable import Fallback, Unavailable
from serve.replica.units import HOUR_MS

UNHEALTHY_AFTER_S = 180
SUSPECT_HOURS = 24
SUSPECTS = """
select "check", venue, count(*) as rows, max(to_ms) as last_ms from suspect_rows
where to_ms > ? group by "check", venue order by rows desc, "check", venue
"""
QUARANTINE = """
select venue, count(*) as bodies, max(tick_ms) as last_ms, max_by(endpoint, set_aside_ms) as endpoint,
    max_by(error, set_aside_ms) as error
from quarantined_bodies where state <> 'dropped' group by venue order by venue
"""
LOSSES = """
select venue, string_agg(printf('%s: %d of %d %s markets without %s since %s UTC, although the venue lists them',
    endpoint, missing, markets, type, if(family = 'oi', 'open interest', family),
    strftime(make_timestamp_ms(start_ms), '%Y-%m-%d %H:%M')), '; ' order by start_ms, family) as reason
from market_losses where end_ms is null group by venue
"""
UPGRADE = """
select
    case when count(*) = count(finished_ms) then 'done' when count(*) = count(finished_ms) + count(error) then 'partly'
        else 'running' end as state,
    min(from_version) as from_version, max(started_ms) as started_ms,
    case when count(*) = count(finished_ms) then max(finished_ms) end as finished_ms,
    sum(next_ms - begin_ms) / sum(end_ms - begin_ms) as share,
    count(*) as days, count(finished_ms) as finished_days, count(error) as failed_days,
    max(day_ms) filter (where finished_ms is null) as newest_left_ms,
    len(list_distinct(flatten(list(models)))) as models, max_by(error, day_ms) as last_error
from upgrade_days having count(*) > 0
"""
SECONDS_OR_NULL = {"type": ["number", "null"]}
MS_OR_NULL = {"type": ["integer", "null"]}
BACKFILL_FILE = "backfill.json"
"""Beside the replicas: what the fetching of the past says of itself, at least once a minute while it works."""
PROGRESS: Schema = {
    "share": {"type": "number", "minimum": 0, "maximum": 1, "description": "Part of the missing time that is fetched."},
    "requests": {"type": "integer", "description": "Answers that came."},
    "rows": {"type": "integer", "description": "Rows (bars, settlements, observations) in them."},
    "body_bytes": {"type": "integer", "description": "Their bodies."},
    "failed": {"type": "integer", "description": "Spans of one market that were given up."},
    "last_error": {"type": ["string", "null"]},
    "last_error_ms": MS_OR_NULL,
}
BACKFILL: Schema = {
    "type": ["object", "null"],
    "description": "How far what the venues have of the past is fetched, by the latest run; null before the first one.",
    "required": ["state", "started_ms", "finished_ms", "landing_error", *PROGRESS, "venues", "failed_spans"],
    "properties": {
        "state": {
            "enum": ["running", "stopped", "done", "partly"],
            "description": "partly: it has ended and spans are missing; stopped: it goes on at its next start.",
        },
        "started_ms": {"type": "integer"},
        "finished_ms": MS_OR_NULL,
        "landing_error": {"type": ["string", "null"], "description": "Why the landing takes no rows."},
        **PROGRESS,
        "venues": {
            "type": "object",
            "description": "Venue → its progress, and in `kinds` that of each kind.",
            "additionalProperties": {
                "type": "object",
                "required": [*PROGRESS, "kinds"],
                "properties": {
                    **PROGRESS,
                    "kinds": {
                        "type": "object",
                        "additionalProperties": {"type": "object", "required": [*PROGRESS], "properties": PROGRESS},
                    },
                },
            },
        },
        "failed_spans": {
            "type": "array",
            "description": "The first spans that were given up.",
            "items": {"type": "string"},
        },
        "fetched_days": {
            "type": "object",
            "description": "Venue → runs of UTC days, first and last, of which all that is wanted has been fetched.",
            "additionalProperties": {
                "type": "array",
                "items": {"type": "array", "items": {"type": "string", "format": "date"}, "minItems": 2, "maxItems": 2},
            },
        },
        "load_bytes": {
            "type": ["integer", "null"],
            "description": "The largest load that this machine builds before the next minute, bytes of bodies.",
        },
        "absent_files": {
            "type": "object",
            "description": "Venue and kind → days without a file in the venue's archive.",
            "additionalProperties": {
                "type": "object",
                "required": ["missing", "unpublished", "days"],
                "properties": {
                    "missing": {"type": "integer", "description": "Files that should be there by now."},
                    "unpublished": {"type": "integer", "description": "Files that may still come."},
                    "days": {
                        "type": "array",
                        "description": "The first missing ones: symbol and day.",
                        "items": {"type": "string"},
                    },
                },
            },
        },
    },
}
UPGRADED: Schema = {
    "type": ["object", "null"],
    "description": "How far the days that were built before the models changed are built again, the newest first; null "
    "if none are. Until then a day is served as it was built.",
    "required": ["state", "from_version", "started_ms", "finished_ms", "share", "days", "finished_days", "models"],
    "properties": {
        "state": {"enum": ["running", "done", "partly"], "description": "partly: the days that are left have failed."},
        "from_version": {"type": "string", "description": "Version that built them; empty where it is not known."},
        "started_ms": {"type": "integer"},
        "finished_ms": MS_OR_NULL,
        "share": {"type": "number", "minimum": 0, "maximum": 1, "description": "Part of their minutes that is done."},
        "days": {"type": "integer"},
        "finished_days": {"type": "integer"},
        "failed_days": {"type": "integer"},
        "newest_left_ms": {**MS_OR_NULL, "description": "Start of the newest day that is not finished."},
        "models": {"type": "integer", "description": "How many models are built again."},
        "last_error": {"type": ["string", "null"]},
    },
}
SCHEMA: Schema = {
    "type": "object",
    "required": [
        "state",
        "edition",
        "as_of",
        "age_s",
        "recorder_lag_s",
        "build_lag_s",
        "venues",
        "backfill",
        "upgrade",
    ],
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
            "items": {
                "type": "object",
                "required": ["venue", "last_good_ms", "last_error", "state", "reason"],
                "properties": {
                    "state": {
                        "enum": ["ok", "partial"],
                        "description": "partial: over a tenth of its markets went missing from one minute to the next, "
                        "and its list has not confirmed that they are gone.",
                    },
                    "reason": {"type": ["string", "null"], "description": "What is missing since when; null if ok."},
                },
            },
        },
        "suspects": {
            "type": "array",
            "description": f"What the data quality checks marked as suspect in the last {SUSPECT_HOURS} hours.",
            "items": {"type": "object", "required": ["check", "venue", "rows", "last_ms"]},
        },
        "quarantine": {
            "type": "array",
            "description": "Responses that are set aside because a model failed with them, by venue, with the "
            "newest of them: the minutes were built without them, and they are tried again.",
            "items": {"type": "object", "required": ["venue", "bodies", "last_ms", "endpoint", "error"]},
        },
        "backfill": BACKFILL,
        "upgrade": UPGRADED,
        "db": {"const": False},
        "error": {"type": "string", "description": "Why nothing can be read."},
    },
}


def nothing_readable(values: Values, outage: Unavailable, fallback: Fallback) -> Body:
    """The same structure without data. A backfill may be running nevertheless."""
    nulls = dict.fromkeys(("edition", "as_of", "published", "recorded_since", "age_s", "recorder_lag_s", "build_lag_s"))
    nothing: dict[str, Any] = {
        **nulls,
        "venues": [],
        "suspects": [],
        "quarantine": [],
        "backfill": _backfill(fallback.serving),
        "upgrade": None,
    }
    return json_body({"state": "unhealthy", **nothing, "db": False, "error": str(outage)}, degraded=True)


@endpoint("/api/status", ttl=None, budget="status", statuses=(200, 400), schema=SCHEMA, offline=nothing_readable)
def status(query: Values, db: Reader) -> Body:
    """State of the service: edition, its age, recorder and build lag, each venue's last good minute, error and missing
    markets, the rows that quality checks marked as suspect, the responses in quarantine, and the progress of the
    backfill and of an upgrade."""
    now = time.time() * 1000
    edition = db.edition
    lost = _losses(db)
    venues: list[dict[str, Any]] = [
        venue | {"state": "partial" if venue["venue"] in lost else "ok", "reason": lost.get(venue["venue"])}
        for venue in db.rows("select * from recording_status order by venue")
    ]
    good = [venue["last_good_ms"] for venue in venues if venue["last_good_ms"] is not None]
    age_s = _seconds(now - edition.as_of_ms)
    return json_body(
        {
            # Data from the future is as bad: a clock is or was wrong.
            "state": "healthy" if abs(age_s) <= UNHEALTHY_AFTER_S else "unhealthy",
            "edition": edition.edition_id,
            "as_of": edition.as_of_ms,
            "published": edition.published_ms,
            "recorded_since": edition.recorded_since_ms,
            "age_s": age_s,
            "recorder_lag_s": _seconds(now - max(good)) if good else None,
            "build_lag_s": _seconds(edition.published_ms - edition.as_of_ms),
            "venues": venues,
            "suspects": _suspects(db),
            "quarantine": _quarantine(db),
            "backfill": _backfill(edition.path.parent),
            "upgrade": _upgrade(db),
        }
    )


def _backfill(serving: Path) -> dict[str, Any] | None:
    try:
        written = (serving / BACKFILL_FILE).stat()
        progress = _read_progress(serving / BACKFILL_FILE, written.st_mtime_ns, written.st_ino)
        # A backfill that was killed leaves the state `running` behind.
        crashed = progress["state"] == "running" and time.time() - written.st_mtime > UNHEALTHY_AFTER_S
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return progress | {"state": "stopped"} if crashed else progress


@lru_cache(maxsize=1)
def _read_progress(path: Path, written_ns: int, inode: int) -> dict[str, Any]:
    """The file's content, read once per modification."""
    progress: dict[str, Any] = orjson.loads(path.read_bytes())
    progress.pop("pid", None)
    return progress


def _losses(db: Reader) -> dict[str, str]:
    """Why venues are partial."""
    if not _has(db, "market_losses"):
        return {}
    return {row["venue"]: row["reason"] for row in db.rows(LOSSES)}


def _suspects(db: Reader) -> list[dict[str, Any]]:
    if not _has(db, "suspect_rows"):
        return []
    return db.rows(SUSPECTS, [db.edition.as_of_ms - SUSPECT_HOURS * HOUR_MS])


def _quarantine(db: Reader) -> list[dict[str, Any]]:
    return db.rows(QUARANTINE) if _has(db, "quarantined_bodies") else []


def _upgrade(db: Reader) -> dict[str, Any] | None:
    return next(iter(db.rows(UPGRADE)), None) if _has(db, "upgrade_days") else None


def _has(db: Reader, table: str) -> bool:
    """Whether the replica has a table: a replica of an earlier version is served until the first publish."""
    return bool(db.value(f"select 1 from duckdb_tables() where table_name = '{table}'"))


def _seconds(ms: float) -> float:
    return round(ms / 1000, 3)
