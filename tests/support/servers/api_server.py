"""A real API server in its own process on a free loopback port, and a client that sends requests exactly as given."""

import contextlib
import http.client
import ipaddress
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import orjson

ROOT = Path(__file__).parents[3]
RUN = """
import sys
from pathlib import Path
from serve.app import run_server
from serve.http.service import Setup
serving, port, docs, keys, redis_url, workers, quality, revision, landing, minutes, bulk, sql, contact = sys.argv[1:]
if __name__ == "__main__":
    shared = {"redis_url": redis_url or None, "trusted_proxies": ("127.0.0.0/8",), "workers": int(workers)}
    shared |= {"quality": Path(quality) if quality else None, "mcp_revision": revision}
    shared |= {"landing": Path(landing) if landing else None, "minutes": Path(minutes) if minutes else None}
    shared |= {"bulk": Path(bulk) if bulk else None, "mcp_sql": sql == "on", "security_contact": contact}
    shared |= {"metrics": Path(serving).parent / "metrics"}
    shared["public_hosts"] = ("mcp.example.org",)
    shared["query_limit_s"] = 25.0  # a busy machine is slow at times; the client waits for 30 s
    run_server(Setup(Path(serving), Path(docs) if docs else None, Path(keys), **shared), "127.0.0.1", int(port))
"""
T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """One HTTP response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, which must be JSON and say so."""
        assert self.headers["content-type"] == "application/json", self
        return orjson.loads(self.body)

    @property
    def error(self) -> str:
        """The message of an error body, which holds nothing else unless it is a 503."""
        content = self.json
        assert set(content) <= {"error", "state"}, content
        return str(content["error"])


@dataclass(frozen=True)
class Api:
    """The running server."""

    port: int
    serving: Path
    log: Path

    @property
    def keys(self) -> Path:
        """The server's file of keys."""
        return self.serving.parent / "keys.json"

    def get(self, path: str, method: str = "GET", **headers: str) -> Answer:
        """Send a request over a new connection. Header names have underscores for dashes.

        Without X_Forwarded_For each request comes from a different address, because budgets are per address.
        """
        headers = {"X_Forwarded_For": some_address(), **headers}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, headers={name.replace("_", "-"): text for name, text in headers.items()})
            response = connection.getresponse()
            named = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, named, response.read())
        finally:
            connection.close()

    def series(self, metric: str, **query: Any) -> Any:
        """The JSON of a series that must exist."""
        answer = self.get(f"/api/series/{metric}?" + "&".join(f"{name}={text}" for name, text in query.items()))
        assert answer.status == 200, answer
        return answer.json


def until(ask: Callable[[], T], met: Callable[[T], bool], deadline_s: float = 30) -> T:
    """Repeat the request until the response is as wanted."""
    end = time.monotonic() + deadline_s
    while not met(answer := ask()):
        assert time.monotonic() < end, f"not met in {deadline_s} s: {answer}"
        time.sleep(0.02)
    return answer


def in_one_minute(scenario: Callable[[], Any]) -> Any:
    """The result of a scenario that must run within one minute of the clock, as budgets do; it is restarted
    otherwise."""
    while True:
        minute = time.time() // 60
        result = scenario()
        if time.time() // 60 == minute:
            return result


def some_address() -> str:
    """A client's address that hardly any other request has."""
    return str(ipaddress.IPv4Address((1 << 24) + secrets.randbelow(126 << 24)))


@contextlib.contextmanager
def running(
    serving: Path,
    port: int,
    docs: Path | None = None,
    redis_url: str = "",
    workers: int = 1,
    quality: Path | None = None,
    revision: str = "",
    before: str = "",
    now_ms: int | None = None,
    root: Path = ROOT,
    landing: Path | None = None,
    minutes: Path | None = None,
    bulk: Path | None = None,
    sql: bool = False,
    contact: str = "",
) -> Iterator[Api]:
    """A server on the replica folder until the block ends; it must then stop by itself on SIGTERM.

    `before`: Python that its process runs first. `now_ms`: its clock stands still there.
    `root`: the folder of its packages.
    """
    if now_ms is not None:
        before += f"import time\ntime.time_ns, time.time = lambda: {now_ms * 1_000_000}, lambda: {now_ms / 1000}\n"
    log = serving.parent / f"server-{port}.log"
    with log.open("wb") as out:
        folders = [str(serving), str(port), str(docs or ""), str(serving.parent / "keys.json")]
        rest = [redis_url, str(workers), str(quality or ""), revision, str(landing or "")]
        rest += [str(minutes or ""), str(bulk or ""), "on" if sql else "", contact]
        command = [sys.executable, "-c", before + RUN, *folders, *rest]
        process = subprocess.Popen(
            command, cwd=root, stdout=out, stderr=out, env={**os.environ, "PYTHONPATH": str(root)}
        )
    api = Api(port, serving, log)

    def answers() -> bool:
        assert process.poll() is None, log.read_text()
        with contextlib.suppress(OSError):
            return api.get("/").status == 200
        return False

    try:
        until(answers, bool)
        yield api
        process.terminate()
        try:
            code = process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the server does not stop:\n{log.read_text()}") from None
        assert code == 0, log.read_text()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
