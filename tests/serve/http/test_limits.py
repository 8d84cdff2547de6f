"""Rate limits by client address and by key, within a minute of the clock."""

import contextlib
import http.client
import time

import pytest

from serve.http.keys import create_key
from serve.http.limits import BUDGETS
from tests.support.servers.api_server import Answer, Api, in_one_minute, some_address, until
from tests.support.servers.budgets import SERIES, budget


@pytest.mark.requirement("limits:series", "limits:headers", "limits:429", "limits:counted")
def test_thirty_a_minute_by_address(api: Api) -> None:
    def scenario() -> list[Answer]:
        who = some_address()
        paths = [SERIES, "/api/series/nope", "/api/series/price?base=NOPE", "/api/series/price?base="]
        asked = [api.get(paths[n % 4], X_Forwarded_For=who) for n in range(28)]
        asked.append(api.get(SERIES, X_Forwarded_For=who, If_None_Match="*"))
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


@pytest.mark.requirement("limits:polled", "http:edition")
def test_what_the_client_has_costs_nothing(api: Api, key: str) -> None:
    def scenario() -> list[Answer]:
        who = some_address()
        first = api.get(SERIES, X_Forwarded_For=who)
        etag = first.headers["etag"]
        polled = [api.get(SERIES, X_Forwarded_For=who, If_None_Match=etag) for _ in range(40)]
        # Not cached under this key yet, and computed before it is known that nothing has changed.
        keyed = api.get(SERIES, X_API_Key=key)
        again = api.get(SERIES, X_API_Key=key, If_None_Match=keyed.headers["etag"])
        wrong = api.get("/api/series/price?base=NOPE", X_Forwarded_For=who)
        return [*polled, keyed, again, wrong, first]

    *polled, keyed, again, wrong, first = in_one_minute(scenario)
    assert {(answer.status, budget(answer)) for answer in polled} == {(304, (30, 29))}
    assert again.status == 304
    assert budget(again)[1] == budget(keyed)[1]
    assert (wrong.status, budget(wrong)) == (404, (30, 28))
    edition = first.headers["x-edition"]
    assert int(edition) > 0
    assert {answer.headers["x-edition"] for answer in (*polled, keyed, again, wrong)} == {edition}


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


@pytest.mark.requirement("limits:counted")
@pytest.mark.parametrize(("path", "name"), [("/api/status", "status"), ("/docs", "pages")])
def test_status_and_pages_are_counted_too(api: Api, path: str, name: str) -> None:
    def scenario() -> list[Answer]:
        who = some_address()
        return [api.get(path, X_Forwarded_For=who) for _ in range(5)]

    answers = in_one_minute(scenario)
    assert [answer.status for answer in answers] == [200] * 5
    limit = BUDGETS[name].limit
    # A page names its budget only when it is exceeded.
    named = [budget(answer) for answer in answers if "x-ratelimit-limit" in answer.headers]
    assert named == ([(limit, limit - 1 - n) for n in range(5)] if name == "status" else [])


@pytest.mark.requirement("limits:counted")
def test_a_client_that_asks_for_too_many_pages_is_refused(api: Api) -> None:
    def scenario() -> list[int]:
        who = some_address()
        connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=30)
        with contextlib.closing(connection):
            statuses = []
            for _ in range(BUDGETS["pages"].limit + 2):
                connection.request("GET", "/nowhere", headers={"X-Forwarded-For": who})
                response = connection.getresponse()
                response.read()
                statuses.append(response.status)
            return statuses

    assert in_one_minute(scenario) == [404] * BUDGETS["pages"].limit + [429] * 2


@pytest.mark.requirement("limits:windows")
def test_a_window_ends_with_its_minute(api: Api) -> None:
    who = some_address()
    before = time.time()
    reset = int(api.get(SERIES, X_Forwarded_For=who).headers["x-ratelimit-reset"])
    after = time.time()
    # The request was counted between the two, perhaps not in the same minute.
    ends = {(at // 60 + 1) * 60 for at in (before, after)}
    assert any(end - after <= reset <= end - before + 1 for end in ends), (before, after, reset)


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
