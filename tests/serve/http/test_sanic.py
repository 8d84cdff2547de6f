"""The parts of Sanic that serve/http/sanic.py relies on: an upgrade that changes them fails here first."""

import multiprocessing
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from tests.support.servers.api_server import RUN, Api, free_port, until

BODY = b'{"a":1}'
HEADERS = {
    200: {"content-type": "application/json", "etag": '"x"', "content-length": str(len(BODY))},
    304: {"etag": '"x"'},
}


def serve(port: int) -> None:
    """A server of our kind: the same response from a dict of headers and prepared, and one that repeats its URL."""
    from sanic import HTTPResponse, Request

    from serve.app import bare_app
    from serve.http.cache import encode_headers
    from serve.http.sanic import PreparedResponse

    app = bare_app("sanic")

    @app.route("/<way:str>/<status:int>", methods=("GET", "HEAD"))
    async def respond(request: Request, way: str, status: int) -> HTTPResponse:
        body = BODY if status == 200 else b""
        if way == "dict":
            return HTTPResponse(body, status, HEADERS[status])
        return PreparedResponse(status, body, encode_headers(HEADERS[status]))

    @app.get("/api/a")
    async def repeat(request: Request) -> HTTPResponse:
        return HTTPResponse(request.raw_url)

    app.run("127.0.0.1", port, single_process=True, access_log=False, motd=False)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    port = free_port()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(port,))
    process.start()

    def listens() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        until(listens, bool, 60)
        yield port
    finally:
        process.terminate()
        process.join()


def exchange(port: int, target: bytes, method: bytes = b"GET") -> tuple[bytes, list[bytes], bytes]:
    """Status line, sorted headers and body as the server sends them."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(b"%b %b HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n" % (method, target))
        with connection.makefile("rb") as stream:
            head, _, body = stream.read().partition(b"\r\n\r\n")
    line, *headers = head.split(b"\r\n")
    return line, sorted(headers), body


@pytest.mark.requirement("http:etag")
@pytest.mark.parametrize("method", [b"GET", b"HEAD"])
@pytest.mark.parametrize("status", [200, 304])
def test_prepared_headers_are_sent_as_sanic_sends_a_dict_of_them(port: int, status: int, method: bytes) -> None:
    plain, prepared = (exchange(port, b"/%b/%d" % (way, status), method) for way in (b"dict", b"prepared"))
    assert prepared == plain
    assert prepared[0].split()[1] == b"%d" % status
    assert prepared[2] == (BODY if (status, method) == (200, b"GET") else b"")


@pytest.mark.requirement("http:paths")
@pytest.mark.parametrize(
    ("target", "status", "body"),
    [
        (b"/api/%61", b"200", b"/api/a"),
        (b"/%61pi/a?x=%61%2F", b"200", b"/api/a?x=%61%2F"),
        (b"/api/a?x=1", b"200", b"/api/a?x=1"),
        (b"/api%2Fa", b"404", None),
        (b"*", b"404", None),
    ],
)
def test_a_path_is_spelled_plainly_and_a_url_need_not_parse(
    port: int, target: bytes, status: bytes, body: bytes | None
) -> None:
    line, _, received = exchange(port, target)
    assert line.split()[1] == status
    assert body is None or received == body


@pytest.mark.requirement("http:bad-input")
@pytest.mark.parametrize("target", [b"*", b"http://[/", b"?x", b"x", b"http://x:99999/"])
def test_a_url_that_does_not_parse_is_400_and_not_the_index(api: Api, target: bytes) -> None:
    line, headers, received = exchange(api.port, target)
    assert line.split()[1] == b"400"
    assert b"content-type: application/json" in headers
    assert orjson.loads(received) == {"error": f"'{target.decode()}' is not a URL; send a path, as GET /api/markets"}


@pytest.mark.requirement("http:bad-input")
@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /api/series/price?base=\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /api/series/price?base=Ω HTTP/1.1\r\nHost: x\r\n\r\n".encode(),
        b"GET http://[bad/ HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 20_000 + b"\r\n\r\n",
        b"GET /api/markets HTTP/1.1\r\nHost: x\r\nAccept-Encoding: \xff;q=\xff\r\nIf-None-Match: \xff\r\n\r\n",
        b"POST /api/markets HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n",
        b"nonsense\r\n\r\n",
    ],
)
def test_bytes_that_are_hardly_http(api: Api, request_bytes: bytes) -> None:
    with socket.create_connection(("127.0.0.1", api.port), timeout=30) as connection:
        connection.sendall(request_bytes)
        status = connection.recv(64)
    assert re.match(rb"HTTP/1.1 (200|4\d\d) ", status), status
    assert "Traceback" not in api.log.read_text()


@pytest.mark.requirement("operated:stop")
@pytest.mark.parametrize("processes", [3, 4])
def test_workers_that_are_starting_end_at_sigterm(tmp_path: Path, processes: int) -> None:
    """SIGTERM comes when so many of the main process's four children exist: two of Sanic's own, then the workers."""
    (tmp_path / "serving").mkdir()
    log = tmp_path / "log"
    rest = ["", str(tmp_path / "keys.json"), "redis://127.0.0.1:1/0", "2", *[""] * 7]
    with log.open("wb") as out:
        words = [sys.executable, "-c", RUN, str(tmp_path / "serving"), str(free_port()), *rest]
        server = subprocess.Popen(words, stdout=out, stderr=out, cwd=Path(__file__).parents[3])
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children")
    until(lambda: len(children.read_text().split()), lambda found: found >= processes)
    server.terminate()
    assert server.wait(60) == 0, log.read_text()


ASKED_TO_END = """
import asyncio, os, signal
import serve.app

made = serve.app.create_app

def create(setup):
    app = made(setup)

    @app.{when}
    async def ask(_):
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep({seconds})

    return app

serve.app.create_app = create
"""


@pytest.mark.requirement("operated:stop")
@pytest.mark.parametrize("when", ["before_server_start", "after_server_start"])
@pytest.mark.parametrize("seconds", [0, 0.1])
def test_a_server_that_is_starting_ends_at_sigterm(tmp_path: Path, when: str, seconds: float) -> None:
    """SIGTERM comes in a step of the start, and is noticed at its end or in its midst."""
    (tmp_path / "serving").mkdir()
    log = tmp_path / "log"
    before = ASKED_TO_END.format(when=when, seconds=seconds)
    rest = ["", str(tmp_path / "keys.json"), "", "1", *[""] * 7]
    with log.open("wb") as out:
        words = [sys.executable, "-c", before + RUN, str(tmp_path / "serving"), str(free_port()), *rest]
        server = subprocess.Popen(words, stdout=out, stderr=out, cwd=Path(__file__).parents[3])
    try:
        assert server.wait(30) == 0, log.read_text()
    finally:
        server.kill()
