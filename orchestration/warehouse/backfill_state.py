"""The progress of the backfill, read from the state file of its process."""

import json
import time
from pathlib import Path
from typing import Any

from orchestration.config.settings import Settings

MOST_OF_IT, GIVEN_UP_S = 0.8, 86_400


def backfill_state(settings: Settings) -> dict[str, Any] | None:
    """The progress of the backfill; `running` of a process that was killed is corrected to `stopped`."""
    try:
        found: dict[str, Any] = json.loads((settings.backfill / "state.json").read_bytes())
    except (OSError, ValueError):
        return None
    if found["state"] == "running" and not Path(f"/proc/{found['pid']}").exists():
        found["state"] = "stopped"
    return found


def is_running(settings: Settings) -> bool:
    """Whether a backfill's process is at work."""
    found = backfill_state(settings)
    return found is not None and found["state"] == "running"


def is_fetching(settings: Settings) -> bool:
    """Whether more backfilled data is expected: the backfill is running, or it was interrupted less than a day ago.

    Nothing more is expected after a day without progress, or once four fifths are fetched.
    """
    found = backfill_state(settings)
    if found is None or found["state"] in ("running", "done"):
        return is_running(settings)
    # A venue with an error and without requests never returned its list of markets: its share is not progress.
    venues = found["venues"].values()
    fetched = sum(venue["share"] for venue in venues if venue["requests"] or not venue["last_error"])
    interrupted_s = (settings.backfill / "state.json").stat().st_mtime
    incomplete = found["state"] == "stopped" or fetched < MOST_OF_IT * len(venues)
    return incomplete and time.time() - interrupted_s < GIVEN_UP_S
