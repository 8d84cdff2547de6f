"""The service behind all endpoints: spellings of a path, equal requests at once, unknown paths, generated documents."""

import concurrent.futures
import time
from pathlib import Path

import pytest

from serve.http.responses import on_exception
from tests.support.replica.replica import AS_OF_MS, publish
from tests.support.servers.api_server import Api, free_port, running, some_address

SERIES = "/api/series/price?base=BTC&range=6h"


@pytest.mark.requirement("http:json-errors")
def test_an_unknown_path_and_a_failure_of_our_own(api: Api) -> None:
    for accept in ("text/html", "application/json"):
        answer = api.get("/api/market", Accept=accept)
        assert (answer.status, answer.headers["cache-control"]) == (404, "no-store")
        assert "did you mean '/api/markets'?" in answer.error
    failed = on_exception(None, RuntimeError("a secret"))
    assert (failed.status, failed.body) == (500, b'{"error":"internal error"}')


@pytest.mark.requirement("http:paths")
def test_spellings_of_a_path(api: Api) -> None:
    plain = api.get(SERIES)
    for spelling in (
        "/api/series/price/?base=BTC&range=6h",
        "/api/%73eries/%70rice?base=%42TC&r%61nge=6h",
        "/api/series/price?range=6h&base=btc",
    ):
        answer = api.get(spelling)
        assert (answer.status, answer.body, answer.headers["etag"]) == (200, plain.body, plain.headers["etag"])
    market = api.get("/api/series/price?market=binance%3Aperp%3ABTCUSDT")
    assert market.json["market"] == "binance:perp:BTCUSDT"
    assert api.get("/api/markets/").body == api.get("/api/markets").body


@pytest.mark.requirement("http:stampede")
def test_equal_questions_at_once(api: Api) -> None:
    with concurrent.futures.ThreadPoolExecutor(16) as clients:
        answers = list(clients.map(lambda _: api.get("/api/series/volume?base=ETH&range=20d"), range(64)))
    assert {answer.status for answer in answers} == {200}
    assert len({answer.body for answer in answers}) == len({answer.headers["etag"] for answer in answers}) == 1


@pytest.mark.requirement("docs:served")
def test_dbt_docs(api: Api, tmp_path: Path) -> None:
    assert b"tables" in api.get("/dbt/").body
    assert api.get("/dbt/").headers["content-type"].startswith("text/html")
    assert api.get("/dbt").headers["location"] == "/dbt/"
    assert api.get("/dbt/manifest.json").json == {}
    serving = tmp_path / "serving"
    publish(serving, 1)
    with running(serving, free_port(), tmp_path / "not-yet") as other:
        answer = other.get("/dbt/")
        assert (answer.status, "generated" in answer.error) == (404, True)
        (tmp_path / "not-yet").mkdir()
        (tmp_path / "not-yet" / "index.html").write_text("now")
        assert other.get("/dbt/").body == b"now"
        assert other.get(f"/api/series/price?base=BTC&start={AS_OF_MS - 60_000}&end={AS_OF_MS}").status == 200


@pytest.mark.requirement("status:shape", "edition:busy")
def test_what_depends_on_the_clock_is_made_once_a_second(api: Api) -> None:
    """Forty clients that ask at the same time have the answers of the seconds in which they asked."""

    def ask(_: int) -> bytes:
        return api.get("/api/status", X_Forwarded_For=some_address()).body

    began = time.time()
    with concurrent.futures.ThreadPoolExecutor(16) as clients:
        answers = set(clients.map(ask, range(40)))
    assert 1 <= len(answers) <= int(time.time()) - int(began) + 1
