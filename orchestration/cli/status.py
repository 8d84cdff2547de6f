"""`tidemark status`: the body of GET /api/status (from the running API, or computed here without one) and the
recorder's own state."""

import json
import time
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import Any

import duckdb

from orchestration.cli.storage import brief
from orchestration.config.clock import SECONDS, as_utc
from orchestration.config.settings import Settings
from orchestration.publish.metrics import parts_of
from serve.endpoints.service.status import UNHEALTHY_AFTER_S, nothing_readable, status
from serve.replica.edition import Reader, open_edition
from serve.replica.unavailable import Fallback, Unavailable

State = dict[str, Any]


def read_status(settings: Settings) -> State:
    """The body of GET /api/status, with its origin and the state of the recorder on this machine."""
    found = _from_api(settings) or _from_files(settings)
    found |= _judged(found)
    recorder = _json(settings.recorder / "state.json")
    if recorder:
        # The recorder's state is newer than the served data, and available even if the pipeline is down.
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
    return {"home": str(settings.home), **found, "bytes": dict(parts_of(settings)) if settings.home.exists() else {}}


def _from_api(settings: Settings) -> State | None:
    url = f"{settings.api_url}/api/status"
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            found: State = json.load(response)
    except (OSError, ValueError, HTTPException):  # the last: something on this port speaks another protocol
        return None
    current = _json(settings.serving / "current.json")
    # The server on this port may belong to another home: use its response only if it serves this home's edition.
    if not current or abs(current["edition_id"] - (found.get("edition") or 0)) > 1:
        return None
    return found | {"source": url}


def _from_files(settings: Settings) -> State:
    """The body that the API would return, computed by the endpoint's own code on the served replica."""
    current = _json(settings.serving / "current.json")
    name = current["replica"] if current else ""
    try:
        if current is None:
            raise FileNotFoundError("nothing has been published yet")
        edition = open_edition(settings.serving / name)
        try:
            body = status({}, Reader(edition, edition.connection.cursor()))
        finally:
            edition.connection.close()
    except (duckdb.Error, OSError, ValueError) as error:
        reason = Unavailable(f"{name} cannot be read: {error}" if current else str(error))
        body = nothing_readable({}, reason, Fallback(settings.serving))
    found: State = json.loads(body.data)
    return found | {"source": str(settings.serving)}


def _judged(found: State) -> State:
    """State and summary. New data is still unhealthy if no exchange has a good response in it."""
    age_s, minutes = found["age_s"], UNHEALTHY_AFTER_S // 60
    good = [venue["last_good_ms"] for venue in found["venues"] if venue["last_good_ms"] is not None]
    state, summary = found["state"], "the served data is up to date"
    if age_s is None:
        return {"summary": found.get("error", "nothing has been published yet")}
    if age_s < -UNHEALTHY_AFTER_S:
        summary = "the served data is from the future: a clock is or was wrong"
    elif age_s > UNHEALTHY_AFTER_S:
        summary = f"the served data is older than {minutes} minutes"
    elif time.time() * 1000 - max(good, default=0) > UNHEALTHY_AFTER_S * 1000:
        state, summary = "unhealthy", f"no exchange has been recorded successfully for {minutes} minutes"
    return {"state": state, "summary": summary}


def as_text(found: State) -> str:
    """The status as lines of text."""
    lines = [f"{found['state']}: {found['summary']} (read from {found['source']})"]
    lines.append(f"  home       {found['home']}")
    lines.append(f"  storage    {brief(found['bytes'])}; `tidemark storage` says what recording costs")
    if found["edition"] is not None:
        lines.append(f"  edition    {found['edition']}, data of {_clock(found['as_of'])}, {_age(found['age_s'])} old")
    lines.append(f"  recorder   last landed {_age(found['recorder_lag_s'])} ago")
    lines.append(f"  build      {_age(found['build_lag_s'])} behind the recorder")
    if history := found.get("backfill"):
        lines.append(f"  history    {_bar(history['share'])} {_history(history)}")
        lines += [f"  archive    {kind}: {_absent(files)}" for kind, files in history.get("absent_files", {}).items()]
    if (upgraded := found.get("upgrade")) and upgraded["state"] != "done":
        lines.append(f"  upgrade    {_bar(upgraded['share'])} {_upgrade(upgraded)}")
    error = found.get("recorder", {}).get("landing_error")
    if error:
        lines.append(f"  landing    {error}")
    for venue in _venues(found):
        good = f"last good minute {_clock(venue['last_good_ms'])}" if venue["last_good_ms"] else "no good minute yet"
        problem = f"; {_clock(venue['last_error_ms'])} {venue['last_error']}" if venue["last_error"] else ""
        missing = f"; partial: {venue['reason']}" if venue.get("reason") else ""
        lines.append(f"  {venue['venue']:<12} {good}{problem}{missing}")
    for suspect in found.get("suspects", []):
        marked = f"{suspect['rows']} suspect, last of {_clock(suspect['last_ms'])}"
        lines.append(f"  {suspect['venue']:<12} {suspect['check']}: {marked}")
    for held in found.get("quarantine", []):
        bodies = f"{held['bodies']} responses in quarantine, last of {_clock(held['last_ms'])} {held['endpoint']}"
        lines.append(f"  {held['venue']:<12} {bodies}: {held['error']}")
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


def _upgrade(found: State) -> str:
    version = f" by version {found['from_version']}" if found["from_version"] else ""
    words = (
        f"{found['state']}: {found['finished_days']} of {found['days']} days that were built{version} are built again"
    )
    return words + (f"; {found['failed_days']} failed: {found['last_error']}" if found["failed_days"] else "")


def _absent(files: State) -> str:
    """Days without a file in an exchange's archive."""
    days = ", ".join(files["days"][:3])
    first = f" (first {days})" if days else ""
    return f"{files['missing']} files are missing{first}, {files['unpublished']} are not published yet"


def _venues(found: State) -> list[State]:
    """The state per venue, from the built data or, if nothing is built yet, from the recorder."""
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
    return "never" if ms is None else as_utc(ms, SECONDS)


def _age(seconds: float | None) -> str:
    if seconds is None:
        return "unknown"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
