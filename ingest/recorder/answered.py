"""When each key of the endpoints with bars was last answered, kept on disk: a recorder that is started again asks for
the bars since then. Otherwise it would ask for as many as a response may have, of every market, and for an hour each
minute's build would write several times the rows.
"""

import logging
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import orjson

from ingest.recorder.schedule import Schedule

log = logging.getLogger(__name__)

FILE = "answered.json"
EVERY_MS = 300_000
"""So often it is written: a recorder that was killed asks for as many minutes twice."""


def read_answered(home: Path, schedules: Mapping[str, Schedule], now_ms: int) -> None:
    """Let the schedules continue from the file. Every key counts as new without a file or with one that is unreadable,
    and so does a key that was answered in the future, by a clock that was ahead."""
    try:
        found = orjson.loads((home / FILE).read_bytes())
        times = {
            (venue, endpoint, key): int(at_ms)
            for venue, endpoints in found.items()
            for endpoint, keys in endpoints.items()
            for key, at_ms in keys.items()
        }
    except FileNotFoundError:
        return
    except (OSError, ValueError, TypeError, AttributeError) as error:
        log.warning("%s is not readable, so that all bars are asked for: %r", home / FILE, error)
        return
    for (venue, endpoint, key), at_ms in times.items():
        if venue in schedules and at_ms <= now_ms:
            schedules[venue].note_answered(endpoint, key, at_ms)


def write_answered(home: Path, schedules: Mapping[str, Schedule], before_ms: int) -> None:
    """Replace the file, with what was answered in minutes before this time: those rows must be on disk."""
    found = {venue: schedule.answered(before_ms) for venue, schedule in schedules.items()}
    written = home / f"{FILE}.new"
    with suppress(OSError):
        written.write_bytes(orjson.dumps(found))
        written.replace(home / FILE)
