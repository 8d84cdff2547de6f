"""The `tidemark` command from a shell: help, wrong usage, errors before the start, status."""

import json
import os
import re
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from typer.testing import CliRunner, Result

from orchestration.cli.main import app
from orchestration.config.settings import SETTINGS, Settings
from orchestration.supervise.preflight import PreflightError, check_origin
from orchestration.supervise.probes import first_number
from tests.support.pipeline.dbt_project import give_parsed
from tests.support.replica import replica
from tests.support.servers.api_server import free_port, running, some_address, until

TIDEMARK = str(Path(sys.executable).with_name("tidemark"))
COMMANDS = ("demo", "up", "record", "build", "publish", "serve", "sandbox", "backfill", "status")


def environment(home: Path, **more: str) -> dict[str, str]:
    """A home of its own on ports of its own."""
    ports = {name: str(free_port()) for name in ("TIDEMARK_API_PORT", "TIDEMARK_DAGSTER_PORT", "TIDEMARK_SANDBOX_PORT")}
    bare = {name: value for name, value in os.environ.items() if not name.startswith("TIDEMARK_")}
    return {**bare, **ports, "TIDEMARK_HOME": str(home), **more}


def tidemark(env: dict[str, str], *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([TIDEMARK, *words], env=env, capture_output=True, text=True, timeout=120, check=False)


def sentence(done: "subprocess.CompletedProcess[str]") -> str:
    """The one line that a failure is."""
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


def test_help_names_every_command_and_setting(tmp_path: Path) -> None:
    done = tidemark(environment(tmp_path), "--help")
    assert done.returncode == 0
    assert set(COMMANDS) <= set(re.findall(r"^  (\w+) ", done.stdout, re.M))
    for setting in SETTINGS:
        assert setting.name in done.stdout
        assert setting.meaning in " ".join(done.stdout.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str) -> None:
    done = CliRunner().invoke(app, [command, "--help"], prog_name="tidemark")
    assert done.exit_code == 0
    assert done.stdout.startswith(f"Usage: tidemark {command}")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_setting_is_one_sentence_and_code_2(command: str, tmp_path: Path) -> None:
    done = CliRunner(env=environment(tmp_path, TIDEMARK_UNIVERSE="huge")).invoke(app, [command])
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr == "tidemark: TIDEMARK_UNIVERSE is 'huge', but it must be one of: small, full.\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sandbox"], "either --simulate or --replay"),
        (["sandbox", "--simulate", "--replay", "."], "either --simulate or --replay"),
        (["sandbox", "--replay", "/nowhere"], "no replay.json"),
        (["sandbox", "--simulate", "--universe", "huge"], "one of: small, full"),
        (["dmo"], "No such command"),
        (["record", "--twice"], "No such option"),
    ],
)
def test_wrong_usage_is_code_2(words: list[str], message: str, tmp_path: Path) -> None:
    done = tidemark(environment(tmp_path), *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["demo", "up"])
@pytest.mark.parametrize("variable", ["TIDEMARK_API_PORT", "TIDEMARK_DAGSTER_PORT"])
def test_a_busy_port_is_one_sentence_before_anything_starts(command: str, variable: str, tmp_path: Path) -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = str(busy.getsockname()[1])
        done = tidemark(environment(tmp_path, **{variable: port}), command)
    assert done.returncode == 1
    assert sentence(done) == f"tidemark: Port {port} on 127.0.0.1 is already in use; set {variable} to a free one."
    assert not list(tmp_path.glob("logs/*"))


@pytest.mark.parametrize("variable", ["TIDEMARK_HOME", "TIDEMARK_LANDING", "TIDEMARK_WAREHOUSE"])
def test_an_unwritable_folder_is_one_sentence_before_anything_starts(variable: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    done = tidemark(environment(tmp_path / "home", **{variable: str(file / "inside" / "deep")}), "demo")
    assert done.returncode == 1
    reported = sentence(done)
    assert str(file) in reported
    assert "cannot be written to" in reported
    assert variable in reported


def test_recordings_of_real_and_simulated_markets_do_not_mix(tmp_path: Path) -> None:
    (tmp_path / "origin").write_text("the real exchanges\n")
    done = tidemark(environment(tmp_path), "demo")
    assert done.returncode == 1
    assert "must not mix with simulated exchanges" in sentence(done)
    assert not list(tmp_path.glob("logs/*"))


@pytest.mark.parametrize("words", [["record", "--once"], ["backfill", "--within", "1"]])
@pytest.mark.parametrize("simulated", [True, False])
def test_recording_by_hand_refuses_to_mix_real_and_simulated_data(
    words: list[str], simulated: bool, tmp_path: Path
) -> None:
    kinds = ("simulated exchanges", "the real exchanges")
    before, now = reversed(kinds) if simulated else kinds
    (tmp_path / "origin").write_text(f"{before}\n")
    url = f"http://127.0.0.1:{free_port()}" if simulated else ""
    done = tidemark(environment(tmp_path, TIDEMARK_VENUES_URL=url), *words)
    assert done.returncode == 1
    assert f"holds recordings of {before}, which must not mix with {now}" in sentence(done)
    assert [file.name for file in tmp_path.iterdir()] == ["origin"]


def test_the_origin_of_a_home_is_written_once(tmp_path: Path) -> None:
    settings = Settings.from_env({"TIDEMARK_HOME": str(tmp_path / "home")})
    check_origin(settings)
    [marker] = (tmp_path / "home").iterdir()
    written = marker.stat()
    check_origin(settings)
    assert (marker.stat().st_ino, marker.stat().st_mtime_ns) == (written.st_ino, written.st_mtime_ns)
    marker.write_text("")  # as a full disk leaves it
    check_origin(settings)
    assert marker.read_text() == "the real exchanges\n"
    with pytest.raises(PreflightError, match="must not mix with simulated exchanges"):
        check_origin(replace(settings, venues_url="http://127.0.0.1:9100"))


FULL_DISK = ("sh", "-c", 'ulimit -f 0; exec "$@"', "sh", TIDEMARK)


@pytest.mark.parametrize("words", [["build"], ["publish"], ["keys", "create", "me"], ["demo"], ["backfill"]])
def test_a_full_disk_is_one_sentence(words: list[str], tmp_path: Path) -> None:
    """A process limit under which no file may grow, which a process sees as a full disk."""
    env = environment(tmp_path, PYTHONDONTWRITEBYTECODE="1", TIDEMARK_VENUES_URL=f"http://127.0.0.1:{free_port()}")
    done = subprocess.run([*FULL_DISK, *words], env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert re.fullmatch(r"tidemark: (.* cannot be used|the system refused): File too large", sentence(done))


def test_a_warehouse_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    give_parsed(Settings.from_env({"TIDEMARK_HOME": str(tmp_path)}))
    (tmp_path / "warehouse.duckdb").write_bytes(b"cut off")
    done = tidemark(environment(tmp_path), "publish")
    assert done.returncode == 1
    assert str(tmp_path / "warehouse.duckdb") in sentence(done)


def test_a_second_supervisor_on_the_same_home_is_refused(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from orchestration.supervise.preflight import lock_home; "
        "lock_home(Path(sys.argv[1])); print('locked', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        done = tidemark(environment(tmp_path), "up")
    finally:
        holder.communicate()
    assert done.returncode == 1
    assert f"already runs on {tmp_path} (process {holder.pid})" in sentence(done)


def current(home: Path) -> str:
    return (home / "serving" / "current.json").read_text()


def now_ms() -> int:
    return int(time.time() * 1000)


def status(env: dict[str, str]) -> tuple[int, dict[str, Any]]:
    done = in_this_process(env, "status", "--json")
    return done.exit_code, json.loads(done.stdout)


def in_this_process(env: dict[str, str], *words: str) -> Result:
    """A command without the second that its process takes to start."""
    return CliRunner(env=env).invoke(app, words, prog_name="tidemark")


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


def processes_of(home: Path) -> dict[int, str]:
    """The running processes that know this home by their environment, with their command lines."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environ, command = (folder / "environ").read_bytes(), (folder / "cmdline").read_bytes()
            dead = (folder / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
        except OSError:
            continue
        if f"TIDEMARK_HOME={home}".encode() in environ.split(b"\0") and not dead:
            found[int(folder.name)] = command.replace(b"\0", b" ").decode()
    return found


def price(port: int) -> float | None:
    """The newest BTC price that the API serves."""
    try:
        url = f"http://127.0.0.1:{port}/api/series/price?base=BTC"
        # It is asked more often than one address may.
        request = urllib.request.Request(url, headers={"X-Forwarded-For": some_address()})
        with urllib.request.urlopen(request, timeout=10) as response:
            values = json.load(response).get("v", [])
    except (OSError, ValueError):
        return None
    return next((value for value in reversed(values) if value is not None), None)


@pytest.mark.timeout(900)
def test_the_demo_starts_serves_survives_a_crash_and_stops(tmp_path: Path) -> None:
    home = tmp_path / "home"
    env = environment(home, TIDEMARK_TRUSTED_PROXIES="127.0.0.1")
    port = int(env["TIDEMARK_API_PORT"])
    output = tmp_path / "output"
    with output.open("wb") as out:
        demo = subprocess.Popen([TIDEMARK, "demo"], env=env, stdout=out, stderr=out)
    try:
        until(lambda: price(port), lambda value: value is not None or demo.poll() is not None, 300)
        assert demo.poll() is None, output.read_text()
        assert (price(port) or 0) > 0
        until(output.read_text, lambda text: "Try this" in text, 300)

        server = next(pid for pid, command in processes_of(home).items() if command.endswith("cli serve "))
        os.kill(server, signal.SIGKILL)
        until(output.read_text, lambda text: "server stopped (killed by SIGKILL); it starts again in 1 s" in text, 60)
        until(lambda: price(port), lambda value: value is not None, 60)
        code, found = status(env)
        assert code == 0, found

        said = output.read_text()
        for step in (
            "simulated exchanges ready",
            "landed:",
            "built in",
            "published in",
            "the API serves data",
            "Dagster ready",
        ):
            assert step in said
        for command in re.findall(r"^ +(curl .*)$", said, re.M):
            tried = subprocess.run(["sh", "-c", f"{command} --silent --fail"], capture_output=True, check=False)
            assert tried.returncode == 0, command
            assert len(tried.stdout) > 50, command

        second = tidemark(env, "demo")
        assert second.returncode == 1
        assert "already runs on" in second.stderr

        demo.terminate()
        assert demo.wait(60) == 0
    finally:
        demo.kill()
        demo.wait()
    until(lambda: processes_of(home), lambda left: not left, 60)
