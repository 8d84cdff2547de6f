"""Probes: reads of the running product's files, ports and API, by which the start waits for each step."""

import json
import socket
import urllib.request
from datetime import UTC, datetime
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

from orchestration.config.settings import Settings


def edition(settings: Settings) -> dict[str, Any] | None:
    """The served edition, from `current.json`."""
    try:
        current: dict[str, Any] = json.loads((settings.serving / "current.json").read_bytes())
    except (OSError, ValueError):
        return None
    return current


def landing_error(settings: Settings, since_ms: float) -> str | None:
    """The error of a recorder that has not landed anything since then; None if it has."""
    try:
        state = json.loads((settings.recorder / "state.json").read_bytes())
    except (OSError, ValueError):
        return None
    return state["landing_error"] or state["journal_error"] if state["started_ms"] >= since_ms else None


def last_load(settings: Settings, after: str | None = None) -> str | None:
    """The newest committed load, if it is newer than the given one."""
    from ingest.landing.loads import committed_loads

    loads = committed_loads(settings.landing, after)
    return loads[-1].load_id if loads else None


def clock(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%H:%M:%S} UTC"


def listens(url: str) -> bool:
    at = urlsplit(url)
    try:
        socket.create_connection((at.hostname, at.port or 80), timeout=1).close()
    except OSError:
        return False
    return True


def first_number(url: str) -> float | None:
    """The newest value of a series in the API, if there is one."""
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            values = json.load(response).get("v", [])
    except (OSError, ValueError, HTTPException):  # the last: something on this port speaks another protocol
        return None
    return next((value for value in reversed(values) if value is not None), None)
