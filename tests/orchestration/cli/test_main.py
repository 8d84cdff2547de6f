"""The `tidemark` command as a person runs it: help, wrong usage, what is in the way, and the demo."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestration.cli.main import app
from orchestration.config.settings import SETTINGS, Settings
from orchestration.supervise.preflight import PreflightError, check_origin
from tests.support.command import TIDEMARK, environment, sentence, status, tidemark
from tests.support.pipeline.dbt_project import give_parsed
from tests.support.servers.api_server import free_port, some_address, until
from tests.support.servers.scrape import NOT_YET, scraped, used_names

COMMANDS = ("demo", "up", "record", "build", "publish", "serve", "sandbox", "backfill", "status", "bulk")


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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sandbox"], "either --simulate or --replay"),
        (["sandbox", "--simulate", "--replay", "."], "either --simulate or --replay"),
        (["sandbox", "--replay", "/nowhere"], "no replay.json"),
        (["sandbox", "--simulate", "--universe", "huge"], "one of: small, full, triple"),
        (["dmo"], "No such command"),
        (["record", "--twice"], "No such option"),
    ],
)
def test_wrong_usage_is_code_2(words: list[str], message: str, tmp_path: Path) -> None:
    done = tidemark(environment(tmp_path), *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_bulk_files_are_written_of_what_is_published(tmp_path: Path) -> None:
    done = tidemark(environment(tmp_path), "bulk")
    assert done.returncode == 0
    assert "no bulk files are written: nothing has been published yet" in done.stdout
    assert "0 files written" in done.stdout


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
    give_parsed(Settings.from_env({"TIDEMARK_HOME": str(home)}))
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
        # On a busy machine the first minutes come late, and the state says so.
        until(lambda: status(env), lambda answered: answered[0] == 0, 300)

        said = output.read_text()
        for step in (
            "simulated exchanges ready",
            "landed:",
            "built and published in",
            "the API serves data",
            "Dagster ready",
        ):
            assert step in said
        for command in re.findall(r"^ +(curl .*)$", said, re.M):
            tried = subprocess.run(["sh", "-c", f"{command} --silent --fail"], capture_output=True, check=False)
            assert tried.returncode == 0, command
            assert len(tried.stdout) > 50, command

        # What the dashboard and the alert rules use is there, but for what has not happened yet.
        names = {name for name, _ in scraped(port)}
        assert used_names() - names <= NOT_YET
        assert len(used_names()) > 30

        second = tidemark(env, "demo")
        assert second.returncode == 1
        assert "already runs on" in second.stderr

        demo.terminate()
        assert demo.wait(60) == 0
    finally:
        demo.kill()
        demo.wait()
    until(lambda: processes_of(home), lambda left: not left, 60)
