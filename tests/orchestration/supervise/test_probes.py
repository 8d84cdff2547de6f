"""Probes of the running product: its files, its ports, the first number that its API serves."""

import http.server
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestration.config.settings import Settings
from orchestration.supervise import probes


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    made = Settings.from_env({"TIDEMARK_HOME": str(tmp_path)})
    made.serving.mkdir(parents=True)
    made.recorder.mkdir(parents=True)
    return made


def test_files_that_are_missing_or_half_written_say_nothing(settings: Settings) -> None:
    assert (probes.edition(settings), probes.landing_error(settings, 0), probes.last_load(settings)) == (
        None,
        None,
        None,
    )
    for file in (settings.serving / "current.json", settings.recorder / "state.json"):
        file.write_text("{")
    assert (probes.edition(settings), probes.landing_error(settings, 0)) == (None, None)
    (settings.serving / "current.json").write_text('{"edition_id": 3}')
    assert probes.edition(settings) == {"edition_id": 3}


@pytest.mark.parametrize(
    ("landing", "journal", "said"), [("no bucket", None, "no bucket"), (None, "disk full", "disk full"), (None,) * 3]
)
def test_a_landing_error_counts_from_the_start_on(
    settings: Settings, landing: str | None, journal: str | None, said: str | None
) -> None:
    state = {"started_ms": 1000, "landing_error": landing, "journal_error": journal}
    (settings.recorder / "state.json").write_text(json.dumps(state))
    assert probes.landing_error(settings, 1000) == said
    assert probes.landing_error(settings, 1001) is None, "of a recorder of before"


def test_a_port_listens_or_not(free_port: int) -> None:
    url = f"http://127.0.0.1:{free_port}"
    assert not probes.listens(url)
    with socket.create_server(("127.0.0.1", free_port)):
        assert probes.listens(url)


@contextmanager
def answering(body: bytes) -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b'{"v": [1.5, 2.5, null]}', 2.5),
        (b'{"v": [null]}', None),
        (b'{"v": []}', None),
        (b"{}", None),
        (b"<html>", None),
    ],
)
def test_the_first_number_is_the_newest_that_is_known(body: bytes, found: float | None) -> None:
    with answering(body) as url:
        assert probes.first_number(url) == found


def test_nobody_answers(free_port: int) -> None:
    assert probes.first_number(f"http://127.0.0.1:{free_port}/") is None
