"""`tidemark status`, from the files and from the running API."""

import json
import re
import socketserver
import threading
import time
from pathlib import Path

import duckdb
import pytest

from ingest.backfill.progress import BackfillState
from orchestration.supervise.probes import first_number
from tests.support.command import environment, in_this_process, status
from tests.support.replica import replica
from tests.support.servers.api_server import free_port, running, until


def current(home: Path) -> str:
    return (home / "serving" / "current.json").read_text()


def now_ms() -> int:
    return int(time.time() * 1000)


def test_status_before_anything_was_published(tmp_path: Path) -> None:
    code, found = status(environment(tmp_path))
    assert code == 1
    assert found["state"] == "unhealthy"
    assert found["edition"] is None
    text = in_this_process(environment(tmp_path), "status").stdout
    assert text.startswith("unhealthy: nothing has been published yet")


@pytest.mark.parametrize(("age_s", "code", "state"), [(5, 0, "healthy"), (240, 1, "unhealthy"), (-600, 1, "unhealthy")])
def test_status_from_the_files(age_s: int, code: int, state: str, tmp_path: Path) -> None:
    replica.publish(tmp_path / "serving", 7, as_of_ms=now_ms() - age_s * 1000, max_days=1)
    got, found = status(environment(tmp_path))
    assert (got, found["state"], found["edition"]) == (code, state, 7)
    assert found["age_s"] >= age_s
    assert found["source"] == str(tmp_path / "serving")
    assert {venue["venue"] for venue in found["venues"]} == {"binance", "bybit", "hyperliquid"}
    text = in_this_process(environment(tmp_path), "status").stdout
    for venue in found["venues"]:
        assert re.search(rf"{venue['venue']} +(last good minute|no good minute)", text)
    assert re.search(r"bybit .*; partial: perp_tickers: 249 of 250 perp markets without price since ", text)


def test_files_that_an_archive_lacks_are_counted(tmp_path: Path) -> None:
    replica.publish(tmp_path / "serving", 7, as_of_ms=now_ms(), max_days=1)
    state = BackfillState(1, now_ms(), path=tmp_path / "serving" / "backfill.json")
    for missing, day in ((True, "2026-06-01"), (False, "2026-07-01")):
        state.note_absent("binance", "metrics_history", "BTCUSDT", day, missing=missing)
    state.end(now_ms(), stopped=False)
    text = in_this_process(environment(tmp_path), "status").stdout
    line = "binance metrics_history: 1 files are missing (first BTCUSDT 2026-06-01), 1 are not published yet"
    assert f"  archive    {line}" in text


@pytest.mark.parametrize(("age_s", "code", "state"), [(5, 0, "healthy"), (240, 1, "unhealthy"), (-600, 1, "unhealthy")])
def test_status_from_the_running_api(age_s: int, code: int, state: str, tmp_path: Path) -> None:
    replica.publish(tmp_path / "serving", 7, as_of_ms=now_ms() - age_s * 1000, max_days=1)
    port = free_port()
    with running(tmp_path / "serving", port) as api:
        until(lambda: api.get("/api/status").json["edition"], lambda edition: edition == 7)
        got, found = status(environment(tmp_path, TIDEMARK_API_PORT=str(port)))
    assert (got, found["state"], found["edition"]) == (code, state, 7)
    assert found["source"] == f"http://127.0.0.1:{port}/api/status"


def test_status_is_unhealthy_when_no_exchange_answers(tmp_path: Path) -> None:
    replica.publish(tmp_path / "serving", 7, as_of_ms=now_ms(), max_days=1)
    with duckdb.connect(str(tmp_path / "serving" / json.loads(current(tmp_path))["replica"])) as con:
        con.execute("update recording_status set last_good_ms = null")
    code, found = status(environment(tmp_path))
    assert (code, found["state"]) == (1, "unhealthy")
    assert found["summary"] == "no exchange has been recorded successfully for 3 minutes"


def test_status_does_not_believe_the_api_of_another_home(tmp_path: Path) -> None:
    replica.publish(tmp_path / "other", 50, as_of_ms=now_ms(), max_days=1)
    port = free_port()
    with running(tmp_path / "other", port) as api:
        until(lambda: api.get("/api/status").json["edition"], lambda edition: edition == 50)
        code, found = status(environment(tmp_path, TIDEMARK_API_PORT=str(port)))
    assert (code, found["edition"]) == (1, None)


class Greeting(socketserver.StreamRequestHandler):
    """Another protocol than HTTP: it speaks first."""

    def handle(self) -> None:
        self.wfile.write(b"220 mail.example.org\r\n")
        self.rfile.readline()


def test_a_server_of_another_protocol_on_the_port_is_not_the_api(tmp_path: Path) -> None:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Greeting) as other:
        thread = threading.Thread(target=other.serve_forever)
        thread.start()
        try:
            port = other.server_address[1]
            code, found = status(environment(tmp_path, TIDEMARK_API_PORT=str(port)))
            assert first_number(f"http://127.0.0.1:{port}/api/series/price") is None
        finally:
            other.shutdown()
            thread.join()
    assert (code, found["source"]) == (1, str(tmp_path / "serving"))


def test_status_reports_problems_of_the_recorder(tmp_path: Path) -> None:
    now = now_ms()
    replica.publish(tmp_path / "serving", 7, as_of_ms=now - 60_000, max_days=1)
    state = {"last_landed_ms": now - 10_000, "landing_error": "no space left on device", "venues": {}}
    (tmp_path / "recorder").mkdir()
    (tmp_path / "recorder" / "state.json").write_text(json.dumps(state))
    env = environment(tmp_path)
    _, found = status(env)
    assert found["recorder_lag_s"] >= 10
    assert found["build_lag_s"] == 50
    assert "no space left on device" in in_this_process(env, "status").stdout


def test_what_an_upgrade_builds_again_has_a_line(tmp_path: Path) -> None:
    replica.publish(tmp_path / "serving", 7, as_of_ms=now_ms(), max_days=1)
    text = in_this_process(environment(tmp_path), "status").stdout
    words = (
        "running: 1 of 3 days that were built by version 0.1.0 are built again; 1 failed: the committed landing file"
    )
    assert re.search(rf"  upgrade    \[#{{12}}\.{{12}}\]  50% {words}", text), text
