"""API keys and request budgets, in one worker, in several, and while Redis is unreachable."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from serve.http.keys import KeyFileError, KeyRing, create_key, digest, read_keys, revoke_key
from serve.http.limits import BUDGETS
from tests.support.replica.replica import AS_OF_MS, DAY, publish
from tests.support.replica.replica_server import replica_server
from tests.support.servers.api_server import Answer, Api, free_port, in_one_minute, running, some_address, until
from tests.support.servers.redis_server import redis_server

SERIES = "/api/series/price?base=BTC&range=2h"
TIDEMARK = Path(sys.executable).parent / "tidemark"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A server of its own: budgets are spent and keys made."""
    with replica_server(tmp_path_factory.mktemp("keys")) as api:
        yield api


@pytest.fixture(scope="module")
def key(api: Api) -> str:
    """A valid key of the running server."""
    _, text = create_key(api.keys, "tests")
    until(lambda: api.get(SERIES, X_API_Key=text).status, lambda status: status == 200)
    return text


def budget(answer: Answer) -> tuple[int, int]:
    """Limit and remaining requests; both kinds of rate-limit headers must agree."""
    headers = answer.headers
    limit, remaining, reset = (int(headers[f"x-ratelimit-{name}"]) for name in ("limit", "remaining", "reset"))
    assert 1 <= reset <= 60
    name = "series" if limit != 120 or "series" in headers["ratelimit"] else "general"
    assert headers["ratelimit-policy"] == f'"{name}";q={limit};w=60'
    assert headers["ratelimit"] == f'"{name}";r={remaining};t={reset}'
    return limit, remaining


@pytest.mark.requirement("limits:series", "limits:headers", "limits:429", "limits:counted")
def test_thirty_a_minute_by_address(api: Api) -> None:
    def scenario() -> list[Answer]:
        who = some_address()
        paths = [SERIES, "/api/series/nope", "/api/series/price?base=NOPE", "/api/series/price?base="]
        asked = [api.get(paths[n % 4], X_Forwarded_For=who) for n in range(28)]
        etag = asked[0].headers["etag"]
        asked.append(api.get(SERIES, X_Forwarded_For=who, If_None_Match=etag))
        asked.append(api.get(SERIES, "HEAD", X_Forwarded_For=who))
        asked.append(api.get(SERIES, "OPTIONS", X_Forwarded_For=who))
        return [*asked, api.get(SERIES, X_Forwarded_For=who), api.get("/api/markets", X_Forwarded_For=who)]

    *answers, preflight, refused, other = in_one_minute(scenario)
    assert [budget(answer) for answer in answers] == [(30, 29 - n) for n in range(30)]
    assert [answer.status for answer in answers] == [200, 400, 404, 400] * 7 + [304, 200]
    assert "x-ratelimit-limit" not in preflight.headers
    assert (refused.status, budget(refused)) == (429, (30, 0))
    assert refused.headers["retry-after"] == refused.headers["x-ratelimit-reset"]
    assert refused.headers["cache-control"] == "no-store"
    assert "API key" in refused.error
    assert (other.status, budget(other)[0]) == (200, 120)


@pytest.mark.requirement("limits:general")
def test_the_other_endpoints_share_a_second_bucket(api: Api) -> None:
    def scenario() -> list[Answer]:
        who = some_address()
        return [
            api.get(path, X_Forwarded_For=who) for path in ("/api/markets", "/", "/openapi.json") for _ in range(41)
        ]

    answers = in_one_minute(scenario)
    assert [budget(answer)[1] for answer in answers] == [max(0, 119 - n) for n in range(123)]
    assert [answer.status for answer in answers] == [200] * 120 + [429] * 3


@pytest.mark.requirement("limits:windows")
def test_a_window_ends_with_its_minute(api: Api) -> None:
    who = some_address()
    first = api.get(SERIES, X_Forwarded_For=who)
    now = time.time()
    reset = int(first.headers["x-ratelimit-reset"])
    assert (now + reset) % 60 <= 2 or (now + reset) % 60 >= 58


@pytest.mark.requirement("limits:keyed")
def test_a_key_has_a_budget_of_its_own(api: Api, key: str) -> None:
    def scenario() -> list[Answer]:
        _, fresh = create_key(api.keys, "budget")
        until(lambda: api.get("/api/status", X_API_Key=fresh).status, lambda status: status == 200)
        asked = [api.get(SERIES, X_API_Key=fresh) for _ in range(40)]
        return [*asked, api.get(SERIES, X_API_Key=key)]

    *answers, other = in_one_minute(scenario)
    assert [budget(answer) for answer in answers] == [(120, 119 - n) for n in range(40)]
    assert other.status == 200
    assert BUDGETS["series"].keyed == 120


@pytest.mark.requirement("keys:carried", "keys:private")
def test_how_a_key_is_carried(api: Api, key: str) -> None:
    plain, header = api.get(SERIES), api.get(SERIES, X_API_Key=key)
    assert header.body == plain.body
    assert header.headers["cache-control"] == plain.headers["cache-control"]
    for url in (f"{SERIES}&api_key={key}", f"/api/series/price?api%5Fkey={key}&base=BTC&range=2h"):
        in_url = api.get(url)
        assert (in_url.status, in_url.body) == (200, plain.body)
        assert in_url.headers["cache-control"] == "private, no-store"
        unchanged = api.get(url, If_None_Match=in_url.headers["etag"])
        assert (unchanged.status, unchanged.headers["cache-control"]) == (304, "private, no-store")
    for path in ("/api/markets", "/", "/openapi.json", "/api/status"):
        answer = api.get(f"{path}?api_key={key}")
        assert (answer.status, answer.headers["cache-control"]) == (200, "private, no-store")
    page = api.get(f"/docs?api_key={key}")
    assert (page.status, page.headers["cache-control"]) == (200, "private, no-store")
    assert api.get("/dbt?api_key=nope").status == 401, "it does not lead on either"
    assert (api.get("/dbt", "OPTIONS").status, api.get("/dbt").status in (308, 404)) == (204, True)
    nothing = api.get(f"/api/nope?api_key={key}")
    assert (nothing.status, nothing.headers["cache-control"]) == (404, "private, no-store")
    wrong = api.get(f"/api/series/price?base=NOPE&api_key={key}")
    assert (wrong.status, wrong.headers["cache-control"]) == (404, "private, no-store")
    assert key not in api.log.read_text()


@pytest.mark.requirement("keys:bad")
@pytest.mark.parametrize("wrong", ["nope", "tm_" + "A" * 43, "%00", "%F0%9F%9A%80", "x" * 5000, "'--"])
def test_a_bad_key_is_a_401_everywhere(api: Api, wrong: str) -> None:
    paths = (SERIES, "/api/series/nope", "/api/markets", "/api/status", "/", "/openapi.json", "/dbt/", "/nope")
    for path in paths:
        mark = "&" if "?" in path else "?"
        answer = api.get(f"{path}{mark}api_key={wrong}")
        assert (answer.status, answer.headers["cache-control"]) == (401, "private, no-store")
        assert "not valid" in answer.error
        assert "www-authenticate" in answer.headers
        if "%" not in wrong and len(wrong) < 4000:
            assert api.get(path, X_API_Key=wrong).status == 401
    assert budget(api.get(f"{SERIES}&api_key={wrong}"))[1] == 30, "a 401 does not count"
    assert api.get(SERIES, X_API_Key="").status == 401
    assert "Traceback" not in api.log.read_text()


@pytest.mark.requirement("keys:once")
def test_a_key_is_given_once(api: Api, key: str) -> None:
    assert "once" in api.get(f"{SERIES}&api_key={key}&api_key={key}").error
    assert api.get(f"{SERIES}&api_key={key}", X_API_Key=key).status == 400

    def scenario() -> list[Answer]:
        who = some_address()
        twice = [api.get(f"{SERIES}&api_key={key}&api_key={key}", X_Forwarded_For=who) for _ in range(31)]
        return [*twice, api.get(f"{SERIES}&api_key=nope", X_Forwarded_For=who)]

    *twice, wrong = in_one_minute(scenario)
    assert [answer.status for answer in twice] == [400] * 30 + [429]
    assert ["retry-after" in answer.headers for answer in twice] == [False] * 30 + [True]
    assert (wrong.status, "retry-after" in wrong.headers) == (401, False), "to ask again would not help"


@pytest.mark.requirement("keys:revoked")
def test_a_revoked_key_is_refused_within_five_seconds(api: Api) -> None:
    made, text = create_key(api.keys, "to be revoked")
    until(lambda: api.get("/api/status", X_API_Key=text).status, lambda status: status == 200, deadline_s=5)
    revoke_key(api.keys, made.id)
    until(lambda: api.get("/api/status", X_API_Key=text).status, lambda status: status == 401, deadline_s=5)


@pytest.mark.requirement("keys:range", "keys:points")
def test_limits_that_a_key_raises(api: Api, key: str) -> None:
    long = "/api/series/price?base=BTC&range=10y"
    assert "3650d with an API key" in api.get(long).error
    got = api.get(long, X_API_Key=key).json
    assert (got["step"], got["start"]) == (DAY, (AS_OF_MS - 3650 * DAY) // DAY * DAY)
    assert api.get("/api/series/price?base=BTC&range=3651d", X_API_Key=key).status == 400
    fine = f"/api/series/price?market=bybit:perp:BTCUSDT&start={AS_OF_MS - 2 * DAY}&end={AS_OF_MS}"
    assert api.get(fine).json["step"] == 300_000
    minutes = api.get(fine, X_API_Key=key).json
    assert minutes["step"] == 60_000
    assert 1500 < len(minutes["t"]) < 6000
    assert api.get(fine).json["step"] == 300_000
    edge = AS_OF_MS // 60_000 * 60_000
    for count, step in ((5999, 60_000), (6000, 300_000)):
        url = f"/api/series/price?base=BTC&start={edge - count * 60_000}&end={edge}"
        assert api.get(url, X_API_Key=key).json["step"] == step


@pytest.mark.requirement("limits:proxy")
def test_the_address_is_the_nearest_that_is_no_trusted_proxy(api: Api) -> None:
    """Whatever a client claims stands left of what its proxy adds."""

    def scenario() -> list[Answer]:
        who = some_address()
        claims = (who, f"8.8.8.8, {who}", f"{who}, 127.0.0.9", f"nonsense, {who}", f"::ffff:{who}", f"{who}:4711")
        of_six = ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "[2001:db8:1:2::3]:443", "[2001:db8:1:2::4]")
        six = [api.get(SERIES, X_Forwarded_For=address) for address in of_six]
        return [*(api.get(SERIES, X_Forwarded_For=claim) for claim in claims), *six]

    answers = in_one_minute(scenario)
    *of_four, first, second, third, fourth = [budget(answer)[1] for answer in answers]
    assert of_four == [29, 28, 27, 26, 25, 24]
    assert [second, third, fourth] == [first - 1, first - 2, first - 3]


@pytest.mark.requirement("limits:shared", "cache:shared")
def test_workers_and_hosts_share_counters_and_responses(tmp_path: Path) -> None:
    for host in ("one", "two"):
        publish(tmp_path / host / "serving", 1)
    with (
        redis_server(tmp_path) as redis,
        running(tmp_path / "one" / "serving", free_port(), redis_url=redis.url, workers=2) as one,
        running(tmp_path / "two" / "serving", free_port(), redis_url=redis.url) as two,
    ):
        # The workers of a host open their replicas one after the other.
        until(lambda: [one.get(SERIES).status for _ in range(20)], lambda statuses: set(statuses) == {200})

        def scenario() -> list[Answer]:
            who = some_address()
            return [api.get(SERIES, X_Forwarded_For=who) for _ in range(16) for api in (one, two)]

        answers = in_one_minute(scenario)
        assert [budget(answer)[1] for answer in answers] == [max(0, 29 - n) for n in range(32)]
        assert [answer.status for answer in answers] == [200] * 30 + [429] * 2
        kept = list(redis.client.keys("tidemark:answer:*"))
        assert len(kept) >= 1
        # One worker serves what another has cached: visible by changing it in Redis.
        path = "/api/series/oi?base=ETH&range=3h"
        before = set(redis.client.keys("tidemark:answer:*"))
        body = one.get(path).body
        (name,) = until(lambda: set(redis.client.keys("tidemark:answer:*")) - before, bool)
        kept_body: Any = redis.client.get(name)
        redis.client.set(name, kept_body.replace(b'"metric":"oi"', b'"metric":"io"'))
        assert two.get(path).body == body.replace(b'"metric":"oi"', b'"metric":"io"')

        redis.stop()
        lonely = in_one_minute(lambda: [two.get(SERIES, X_Forwarded_For=who) for who in [some_address()] * 32])
        assert [answer.status for answer in lonely] == [200] * 30 + [429] * 2
        assert one.get("/api/series/volume?base=ETH&range=9h").status == 200
        redis.start()

        def counted() -> bool:
            two.get(SERIES)
            return bool(redis.client.keys("tidemark:limit:*"))

        until(counted, bool)
        assert "Traceback" not in one.log.read_text() + two.log.read_text()


@pytest.mark.requirement("keys:hashed", "keys:cli")
def test_the_command_makes_lists_and_revokes(tmp_path: Path) -> None:
    env = {**os.environ, "TIDEMARK_HOME": str(tmp_path)}

    def keys(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([TIDEMARK, "keys", *words], env=env, capture_output=True, text=True, check=False)

    assert (keys("list").returncode, keys("list").stdout) == (0, "")
    made = keys("create", "Ada's notebook")
    text = made.stdout.strip()
    assert made.returncode == 0
    assert re.fullmatch(r"tm_[\w-]{43}", text)
    file = tmp_path / "keys.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert text not in file.read_text()
    (kept,) = json.loads(file.read_text())["keys"]
    assert (kept["sha256"], kept["name"], kept["revoked_ms"]) == (digest(text), "Ada's notebook", None)
    assert text not in keys("list").stdout
    assert re.search(rf"{kept['id']} +valid .*Ada's notebook", keys("list").stdout)
    assert KeyRing(file).find(text) == kept["id"]
    assert keys("revoke", kept["id"]).returncode == 0
    assert re.search(rf"{kept['id']} +revoked", keys("list").stdout)
    assert KeyRing(file).find(text) is None
    unknown = keys("revoke", "nope")
    assert (unknown.returncode, "there is no key 'nope'" in unknown.stderr) == (1, True)
    assert keys("create", " ").returncode == 1


@pytest.mark.requirement("keys:bad")
def test_a_broken_key_file_admits_no_key(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    _, text = create_key(file, "one")
    assert KeyRing(file).find(text)
    file.write_text('{"keys": [{"sha256"')
    assert KeyRing(file).find(text) is None
    with pytest.raises(KeyFileError, match="cannot be read as keys"):
        read_keys(file)
    with pytest.raises(KeyFileError):
        create_key(file, "two")
    assert KeyRing(None).find(text) is KeyRing(tmp_path / "none").find(text) is None
