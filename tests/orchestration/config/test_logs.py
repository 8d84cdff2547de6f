"""Log lines as text and as JSON, and the field by which the way of a minute is found."""

import json
import subprocess
import sys

SCRIPT = """
import logging, sys, warnings
from orchestration.config.logs import about_minute, log_to, reporter
form = sys.argv[1]
log_to(sys.stderr, form)
log = logging.getLogger("ingest.x")
log.info("recorded %d rows", 3, extra={"minute": "2026-11-25 02:40:00Z", "venue": "okx"})
try:
    1 / 0
except ZeroDivisionError:
    log.exception("failed")
report = reporter(form)
report("before")
about_minute(1_795_574_460_000)
report('built "a" 10 % of it')
"""


def run(form: str) -> tuple[list[str], list[str]]:
    done = subprocess.run([sys.executable, "-c", SCRIPT, form], capture_output=True, text=True, check=True)
    return done.stdout.splitlines(), done.stderr.splitlines()


def test_json_is_one_object_a_line_with_the_minute_it_is_about() -> None:
    out, err = run("json")
    recorded, failed = map(json.loads, err)
    assert recorded.keys() == {"time", "level", "logger", "message", "minute", "venue"}
    assert (recorded["message"], recorded["minute"]) == ("recorded 3 rows", "2026-11-25 02:40:00Z")
    assert "ZeroDivisionError" in failed["exc_info"]
    before, after = map(json.loads, out)
    assert "minute" not in before
    assert (after["message"], after["minute"]) == ('built "a" 10 % of it', "2026-11-25 02:41:00Z")


def test_text_is_for_people() -> None:
    out, err = run("text")
    assert err[0].endswith("INFO ingest.x: recorded 3 rows")
    assert out == ["before", 'built "a" 10 % of it']


def test_what_a_line_says() -> None:
    from orchestration.config.logs import message_of

    assert message_of('{"level": "INFO", "message": "done"}') == "done"
    for line in ("plain", '{"level": "INFO"}', "{broken", '{"message": 3}', "[1]"):
        assert message_of(line) == line
