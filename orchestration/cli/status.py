"""The state of a running or stopped Tidemark: from the API if it answers, else from the files that it would serve."""

import json
import time
import urllib.request
from datetime import UTC, datetime
from http.client import HTTPException
from pathlib import Path
from typing import Any

from orchestration.config.settings import Settings
from orchestration.warehouse.backfill_state import backfill_state

UNHEALTHY_AFTER_S = 180
SUSPECT_MS = 86_400_000

State = dict[str, Any]


def read_status(settings: Settings) -> State:
    """The body of GET /api/status, and with it: where it is from, and what the recorder on this machine says."""
    found = _judged(_from_api(settings) or _from_files(settings))
    recorder = _json(settings.recorder / "state.json")
    if recorder:
        # Fresher than the served data, and still there when the pipeline is not.
        landed_ms = recorder.get("last_landed_ms")
        found["recorder"] = {
            "last_landed_ms": landed_ms,
            "landing_error": recorder.get("landing_error") or recorder.get("journal_error"),
            "venues": recorder.get("venues", {}),
        }
        if landed_ms is not None:
            found["recorder_lag_s"] = _seconds(time.time() * 1000 - landed_ms)
            if found["as_of"] is not None:
                found["build_lag_s"] = _seconds(max(0, landed_ms - found["as_of"]))
    found["backfill"] = backfill_state(settings)
    return {"home": str(settings.home), **found}


def _judged(found: State) -> State:
    """Data that is new but holds no good answer of any exchange is not healthy either."""
    good = [venue["last_good_ms"] for venue in found["venues"] if venue["last_good_ms"] is not None]
    if found["state"] == "healthy" and time.time() * 1000 - max(good, default=0) > UNHEALTHY_AFTER_S * 1000:
        minutes = UNHEALTHY_AFTER_S // 60
        return found | {"state": "unhealthy", "summary": f"no exchange has answered well for {minutes} minutes"}
    return found


def as_text(found: State) -> str:
    """The state as lines for a person."""
    lines = [f"{found['state']}: {found['summary']} (read from {found['source']})"]
    lines.append(f"  home       {found['home']}")
    if found["edition"] is not None:
        lines.append(f"  edition    {found['edition']}, data of {_clock(found['as_of'])}, {_age(found['age_s'])} old")
    lines.append(f"  recorder   last landed {_age(found['recorder_lag_s'])} ago")
    lines.append(f"  build      {_age(found['build_lag_s'])} behind the recorder")
    if history := found.get("backfill"):
        lines.append(f"  history    {_bar(history['share'])} {_history(history)}")
    error = found.get("recorder", {}).get("landing_error")
    if error:
        lines.append(f"  landing    {error}")
    for venue in _venues(found):
        good = f"last good minute {_clock(venue['last_good_ms'])}" if venue["last_good_ms"] else "no good minute yet"
        problem = f"; {_clock(venue['last_error_ms'])} {venue['last_error']}" if venue["last_error"] else ""
        lines.append(f"  {venue['venue']:<12} {good}{problem}")
    for suspect in found.get("suspects", []):
        marked = f"{suspect['rows']} suspect, last of {_clock(suspect['last_ms'])}"
        lines.append(f"  {suspect['venue']:<12} {suspect['check']}: {marked}")
    return "\n".join(lines)


def _bar(share: float, width: int = 24) -> str:
    full = int(share * width)
    return f"[{'#' * full}{'.' * (width - full)}] {share:4.0%}"


def _history(found: State) -> str:
    words = f"{found['state']}, {found['rows']:,} rows"
    if found["failed"]:
        words += f", {found['failed']} spans failed"
    if found["landing_error"]:
        words += f"; {found['landing_error']}"
    behind = sorted((venue["share"], name) for name, venue in found["venues"].items() if venue["share"] < 1)
    if found["state"] == "running" and behind:
        words += f"; {', '.join(f'{name} {share:.0%}' for share, name in behind[:4])}"
    return words


def _from_api(settings: Settings) -> State | None:
    url = f"http://127.0.0.1:{settings.api_port}/api/status"
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            found: State = json.load(response)
    except (OSError, ValueError, HTTPException):  # the last: what listens there speaks another protocol
        return None
    current = _json(settings.serving / "current.json")
    # The server on this port may belong to another home: only the edition of this home counts.
    if not current or abs(current["edition_id"] - (found.get("edition") or 0)) > 1:
        return None
    return {**found, "source": url, "summary": _summary(found["age_s"])}


def _from_files(settings: Settings) -> State:
    nothing = dict.fromkeys(("edition", "as_of", "published", "age_s", "recorder_lag_s", "build_lag_s"))
    found: State = {"state": "unhealthy", **nothing, "venues": [], "suspects": [], "source": str(settings.serving)}
    current = _json(settings.serving / "current.json")
    if not current:
        return {**found, "summary": "nothing has been published yet"}
    age_s = _seconds(time.time() * 1000 - current["as_of_ms"])
    found |= {
        "state": "healthy" if abs(age_s) <= UNHEALTHY_AFTER_S else "unhealthy",
        "edition": current["edition_id"],
        "as_of": current["as_of_ms"],
        "published": current["published_ms"],
        "age_s": age_s,
        "summary": _summary(age_s) + "; the API does not answer",
    }
    try:
        found["venues"], found["suspects"] = _served(settings.serving / current["replica"], current["as_of_ms"])
    except Exception as error:  # whatever DuckDB finds wrong with the file is the finding
        return found | {"state": "unhealthy", "summary": f"{current['replica']} cannot be read: {error}"}
    return found


def _served(replica: Path, as_of_ms: int) -> tuple[list[State], list[State]]:
    """How recording stands, and what the quality checks marked as suspect in the last day, as the API tells it."""
    import duckdb

    with duckdb.connect(str(replica), read_only=True) as con:

        def rows(sql: str) -> list[State]:
            found = con.execute(sql)
            names = [column[0] for column in found.description or []]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

        return rows("select * from recording_status order by venue"), rows(
            'select "check", venue, count(*) as rows, max(to_ms) as last_ms from suspect_rows '
            f'where to_ms > {as_of_ms - SUSPECT_MS} group by "check", venue order by rows desc, "check", venue'
        )


def _summary(age_s: float | None) -> str:
    if age_s is None:
        return "nothing has been published yet"
    if age_s < -UNHEALTHY_AFTER_S:
        return "the served data is of a time that is still to come: a clock is or was wrong"
    if age_s <= UNHEALTHY_AFTER_S:
        return "the served data is up to date"
    return f"the served data is older than {UNHEALTHY_AFTER_S // 60} minutes"


def _venues(found: State) -> list[State]:
    """Per venue what was built, or what the recorder says where that is all there is."""
    if found["venues"]:
        venues: list[State] = found["venues"]
        return venues
    return [
        {
            "venue": name,
            "last_good_ms": venue.get("last_ok_ms"),
            "last_error": venue.get("last_error"),
            "last_error_ms": venue.get("last_error_ms"),
        }
        for name, venue in sorted(found.get("recorder", {}).get("venues", {}).items())
    ]


def _json(path: Path) -> State | None:
    try:
        content: State = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return content


def _seconds(ms: float) -> float:
    return round(ms / 1000, 3)


def _clock(ms: int | None) -> str:
    return "never" if ms is None else f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _age(seconds: float | None) -> str:
    if seconds is None:
        return "unknown"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
