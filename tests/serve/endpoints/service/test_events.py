"""/api/events: each edition over a connection that stays open, also through nginx."""

import contextlib
import http.client
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from serve.http.followers import MOST_OF_ADDRESS
from tests.support.replica.replica import AS_OF_MS, publish
from tests.support.servers.api_server import Api, free_port, running, some_address, until

OF_SERIES = ["/api/series/{metric}", "/api/status"]
# nginx as it is installed, with nothing said of streams.
NGINX = """
daemon off; pid {folder}/pid; error_log stderr;
events {{}}
http {{
  access_log off; client_body_temp_path {folder}; proxy_temp_path {folder};
  fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder};
  server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://127.0.0.1:{behind}; }} }}
}}
"""


class Followed:
    """An open connection to the events."""

    def __init__(self, port: int, path: str = "/api/events", **headers: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        sent = {"X-Forwarded-For": some_address(), **{name.replace("_", "-"): text for name, text in headers.items()}}
        self.connection.request("GET", path, headers=sent)
        self.response = self.connection.getresponse()

    def lines(self) -> list[str]:
        """The lines up to the next empty one; none at the end."""
        found = []
        while line := self.response.readline().decode().strip():
            found.append(line)
        return found

    def event(self) -> Any:
        """The next event, whose id is the edition's."""
        while not (found := self.lines()) or found[0].startswith((":", "retry")):
            pass
        assert found[0] == "event: edition"
        content = orjson.loads(found[2].removeprefix("data: "))
        assert found[1] == f"id: {content['edition']}"
        return content


@contextlib.contextmanager
def following(port: int, path: str = "/api/events", **headers: str) -> Iterator[Followed]:
    followed = Followed(port, path, **headers)
    try:
        yield followed
    finally:
        followed.connection.close()


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("events")
    publish(folder / "serving", 7, max_days=2)
    with running(folder / "serving", free_port()) as api:
        yield api


@pytest.mark.requirement("events:editions", "events:changed")
def test_each_edition_says_what_it_changed(api: Api) -> None:
    served = api.get("/api/status").json["edition"]
    with following(api.port) as new, following(api.port, f"/api/events?since={served}") as known:
        assert new.response.headers["content-type"] == "text/event-stream"
        assert new.response.headers["cache-control"] == "no-store"
        assert new.response.headers["x-ratelimit-limit"] == "120"
        first = {"edition": served, "as_of": AS_OF_MS, "published": AS_OF_MS + 5_000, "changed": None}
        assert new.event() == first  # What it has before is not known.
        publish(api.serving, served + 1, max_days=2)
        later = {**first, "edition": served + 1, "changed": OF_SERIES}  # Options have the same rows as before.
        assert new.event() == later
        assert known.event() == later
    with following(api.port, Last_Event_ID=str(served)) as again:
        assert again.event() == later
    with following(api.port, f"/api/events?since={served + 1}", Last_Event_ID="3") as unknown:
        assert unknown.event() == {**later, "changed": None}


@pytest.mark.requirement("events:since")
def test_what_is_not_an_edition_is_refused(api: Api) -> None:
    for path, headers in (("/api/events?since=x", {}), ("/api/events", {"Last_Event_ID": "x"})):
        answer = api.get(path, **headers)
        assert (answer.status, "'x'" in answer.error, "such as 1842" in answer.error) == (400, True, True)
    assert api.get("/api/events?edition=1").status == 400
    assert api.get("/api/events", X_API_Key="nobody's").status == 401
    head = api.get("/api/events", method="HEAD")
    assert (head.status, head.body, head.headers["content-type"]) == (200, b"", "text/event-stream")
    assert api.get("/api/events", method="OPTIONS").status == 204


@pytest.mark.requirement("events:bounded")
def test_an_address_has_so_many_connections(api: Api) -> None:
    address = {"X_Forwarded_For": some_address()}
    with contextlib.ExitStack() as open_ones:
        followed = [open_ones.enter_context(following(api.port, **address)) for _ in range(MOST_OF_ADDRESS)]
        assert {one.event()["edition"] for one in followed} == {api.get("/api/status").json["edition"]}
        refused = api.get("/api/events", **address)
        assert (refused.status, refused.headers["retry-after"]) == (429, "60")
        assert f"more than {MOST_OF_ADDRESS} open connections" in refused.error
        with following(api.port) as other:
            assert other.event()
        # The server learns of the end of a connection when it comes.
        followed[0].response.close()
        followed[0].connection.close()

        def admitted() -> int:
            with following(api.port, **address) as one:
                return one.response.status

        assert until(admitted, lambda status: status == 200)


@pytest.mark.requirement("events:outage")
def test_who_comes_before_the_first_edition_gets_it(tmp_path: Path) -> None:
    (tmp_path / "serving").mkdir()
    with running(tmp_path / "serving", free_port()) as api, following(api.port) as early:
        assert early.lines()[0].startswith("retry: ")
        publish(tmp_path / "serving", 1, max_days=2)
        assert early.event()["edition"] == 1
    # Until the server stopped, which waited for nobody.
    assert early.response.readline() == b""


@pytest.mark.requirement("events:proxy")
def test_events_come_through_nginx_at_once(api: Api, tmp_path: Path) -> None:
    nginx = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if nginx is None:
        pytest.skip("nginx is not installed (Debian: apt-get install nginx-light)")
    port = free_port()
    config = tmp_path / "nginx.conf"
    config.write_text(NGINX.format(folder=tmp_path, port=port, behind=api.port))
    proxy = subprocess.Popen([nginx, "-c", str(config), "-p", str(tmp_path)], stderr=subprocess.DEVNULL)

    def answers() -> bool:
        assert proxy.poll() is None
        with contextlib.suppress(OSError):
            return Api(port, api.serving, api.log).get("/").status == 200
        return False

    try:
        until(answers, bool)
        with following(port) as followed:
            served = followed.event()["edition"]
            publish(api.serving, served + 1, max_days=2)
            assert followed.event()["changed"] == OF_SERIES
    finally:
        proxy.terminate()
        proxy.wait()
