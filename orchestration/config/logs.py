"""The form of log lines: text for people, or by TIDEMARK_LOG_FORMAT one JSON object a line for log collectors.

A line about a minute has its field `minute`, the same in the recorder, the build, the publish and the server: by it the
way of one minute is found across all logs. Other fields are named where they are logged.
"""

import json
import logging
import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import TextIO

from orchestration.config.clock import minute_name

FORMATS = ("text", "json")
LOGGER = "tidemark"
_minute: ContextVar[str] = ContextVar("minute")


def about_minute(minute_ms: int) -> None:
    """Let the lines that follow be about this minute (UTC epoch ms)."""
    _minute.set(minute_name(minute_ms))


def _add_minute(record: logging.LogRecord) -> bool:
    if minute := _minute.get(None):
        record.__dict__.setdefault("minute", minute)
    return True


def log_to(stream: TextIO, form: str) -> None:
    """Send the logs of this process to a stream."""
    handler = logging.StreamHandler(stream)
    if form == "json":
        from pythonjsonlogger.json import JsonFormatter

        names = {"asctime": "time", "levelname": "level", "name": "logger"}
        handler.setFormatter(JsonFormatter("%(asctime)s %(levelname)s %(name)s %(message)s", rename_fields=names))
        handler.addFilter(_add_minute)
        logging.captureWarnings(capture=True)
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


def reporter(form: str) -> Callable[[str], None]:
    """What a command reports its progress with: it prints, or it logs to standard output as JSON."""
    if form == "text":
        return print
    log_to(sys.stdout, form)
    return logging.getLogger(LOGGER).info


def message_of(line: str) -> str:
    """What a line of either form says."""
    if line.startswith("{"):
        try:
            said = json.loads(line).get("message")
        except (ValueError, AttributeError):
            return line
        return said if isinstance(said, str) else line
    return line
