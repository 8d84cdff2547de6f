"""The doctor against the simulated exchanges with faults of each kind, and its judgements one by one."""

import json
import subprocess
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingest.landing.rows import Row
from orchestration.cli.doctor import verdict
from orchestration.config.settings import Settings
from orchestration.supervise import doctor
from orchestration.supervise.doctor import FAILURE, OK, WARNING, Finding
from tests.support.command import TIDEMARK, environment
from tests.support.servers.api_server import free_port, until

GATE_CONTRACTS = "/api/v4/futures/usdt/contracts"
ROW = Row(0, "v", "tickers", "", "{}", None, 0, None, 1, "HTTP 500", None)


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[str]:
    """The simulated exchanges in a process of their own."""
    port = free_port()
    env = environment(tmp_path / "sandbox", TIDEMARK_SANDBOX_PORT=str(port))
    with (tmp_path / "sandbox.log").open("wb") as log:
        process = subprocess.Popen([TIDEMARK, "sandbox", "--simulate"], env=env, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        assert process.poll() is None, (tmp_path / "sandbox.log").read_text()
        try:
            return bool(call(f"{url}/_sandbox/health"))
        except OSError:
            return False

    try:
        until(answers, bool, 60)
        yield url
    finally:
        process.terminate()
        process.wait(30)


def call(url: str, body: Any = None) -> Any:
    sent = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, sent), timeout=10) as response:
        return json.load(response)


def test_each_kind_of_trouble_is_found_and_named(sandbox: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LISTEN_S", 3.0)
    monkeypatch.setattr(doctor, "ASK_S", 20.0)
    for fault in (
        {"kind": "451", "venue": "bybit"},
        {"kind": "429", "venue": "kucoin", "retry_after": 900},
        {"kind": "outage", "venue": "mexc"},
        {"kind": "changed_field", "venue": "gate", "path": GATE_CONTRACTS, "field": "name", "as": "removed"},
        {"kind": "ws_drop", "venue": "okx", "refuse": True},
    ):
        call(f"{sandbox}/_sandbox/faults", fault)
    settings = Settings.from_env({"TIDEMARK_HOME": str(tmp_path / "home"), "TIDEMARK_VENUES_URL": sandbox})
    venues = ("bybit", "kucoin", "mexc", "gate", "okx", "upbit")
    machine, exchanges = doctor.examine(settings, venues, lambda _: None)
    found = {one.about: one for one in exchanges}
    assert found["upbit"] == ("upbit", OK, "3 of 3 endpoints and streams are as expected")
    assert {one.state for one in (found[name] for name in ("bybit", "kucoin", "mexc"))} == {FAILURE}
    assert "blocked by region (HTTP 451)" in found["bybit perp_tickers"].text
    assert "rate-limited" in found["kucoin perp_tickers"].text
    assert "not reachable" in found["mexc perp_tickers"].text
    assert "is not as the models expect it (changed)" in next(
        one.text for one in exchanges if one.about.startswith("gate ") and one.state == FAILURE
    )
    streams = [one for one in exchanges if one.about.startswith("okx ")]
    assert streams
    assert all("not reachable" in one.text or "HTTP" in one.text for one in streams)
    assert next(one for one in machine if one.about == "clock").state == OK
    good, sentence = verdict(machine, exchanges)
    assert good
    assert sentence == "ready, without bybit, kucoin, mexc and with parts of gate, okx"
    assert not settings.home.exists(), "nothing of the home is changed"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            ROW._replace(status=403, error="HTTP 403", body="<p>access from your country is blocked"),
            "blocked by region",
        ),
        (ROW._replace(status=403, error="HTTP 403", body="no"), "address is blocked, or a proxy answers"),
        (ROW._replace(status=451, error="HTTP 451"), "blocked by region"),
        (ROW._replace(status=418, error="HTTP 418"), "rate-limited"),
        (ROW._replace(error="not asked: h asked to wait (HTTP 429) until 2026"), "rate-limited"),
        (ROW._replace(error="ClientConnectorError: DNS"), "not reachable"),
        (ROW._replace(status=500), "HTTP 500"),
        (ROW._replace(error="not asked: no keys of tickers"), "not asked: no keys of tickers"),
    ],
)
def test_why_there_is_no_good_answer(row: Row, said: str) -> None:
    assert said in doctor._why(row)


@pytest.mark.parametrize(
    ("skews", "state", "text"),
    [
        ([], WARNING, "unknown"),
        ([0.4, -0.3, 0.2], OK, "as the exchanges'"),
        ([5.0, 5.2, -900.0], WARNING, "5 s behind theirs"),
        ([-61.0, -60.0, -60.5], FAILURE, "60 s ahead of theirs"),
    ],
)
def test_the_clock_is_judged_by_the_median(skews: list[float], state: str, text: str) -> None:
    [found] = doctor.clock_findings(skews)
    assert found.state == state
    assert text in found.text


def test_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings.from_env({"TIDEMARK_HOME": str(tmp_path / "not" / "yet")})
    settings = replace(settings, api_port=free_port(), dagster_port=free_port())
    found = {one.about: one for one in doctor.machine_findings(settings)}
    assert found.keys() == {"disk", "memory", "file limit", "cores", "folder", "ports"}
    assert str(tmp_path) in found["disk"].text
    monkeypatch.setattr(doctor, "DISK", (1e18, 1e19))
    monkeypatch.setattr(doctor, "MEMORY", (1, 1e18))
    found = {one.about: one for one in doctor.machine_findings(settings)}
    assert (found["disk"].state, found["memory"].state) == (FAILURE, WARNING)
    good, sentence = verdict(list(found.values()), [Finding("okx", OK, "")])
    assert (good, sentence) == (False, "not ready: disk")
