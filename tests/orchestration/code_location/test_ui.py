"""Dagster's UI behind the check of host names: a real one, asked by its user's browser and by pages of other sites."""

import contextlib
import http.client
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.servers.api_server import free_port, until

INFO, GRAPHQL = "/server_info", "/graphql?query=mutation%7Breloadworkspace%7B__typename%7D%7D"


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    home, port = tmp_path_factory.mktemp("dagster"), free_port()
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    words = ("--empty-workspace", "-h", "127.0.0.1", "-p", str(port))
    with (home / "ui.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "orchestration.code_location.ui", *words],
            stdout=log,
            stderr=log,
            env={**os.environ, "DAGSTER_HOME": str(home), "TIDEMARK_PUBLIC_HOSTS": "dagster.example.org"},
            cwd=Path(__file__).parents[3],
        )

    def answers() -> int | None:
        assert process.poll() is None, (home / "ui.log").read_text()
        with contextlib.suppress(OSError):
            return ask(port, "GET", INFO)
        return None

    try:
        until(answers, lambda status: status == 200, 60)
        yield port
    finally:
        process.terminate()
        process.wait(timeout=30)


def ask(port: int, method: str, path: str, **headers: str) -> int:
    """The status of a response; header names as they are, by default those of a browser on this machine."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    with contextlib.closing(connection):
        connection.request(method, path, headers={"Host": f"localhost:{port}", **headers})
        return connection.getresponse().status


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:3000", "[::1]:3000", "dagster.example.org"])
def test_its_own_pages_are_served(port: int, host: str) -> None:
    assert ask(port, "GET", INFO, Host=host, Origin=f"http://{host}") == 200
    assert ask(port, "POST", GRAPHQL, Host=host, Origin=f"http://{host}") != 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "rebound.example.com"},
        {"Host": "rebound.example.com", "Origin": "http://rebound.example.com"},
        {"Host": "localhost@rebound.example.com"},
        {"Origin": "https://evil.example.com"},
        {"Origin": "null"},
    ],
)
def test_a_page_of_another_site_is_refused(port: int, headers: dict[str, str]) -> None:
    for method, path in (("GET", INFO), ("POST", GRAPHQL), ("GET", "/")):
        assert ask(port, method, path, **headers) == 403
    socket = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    key = {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol": "graphql-ws"}
    assert ask(port, "GET", "/graphql", **socket, **key) == 101
    assert ask(port, "GET", "/graphql", **socket, **key, **headers) == 403
