"""The recorder's HTTP client against a real server: retries, bans, budgets, and the rows that it writes."""

import asyncio
import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from ingest.declaration.endpoint import Endpoint, Pool, Request
from ingest.declaration.venue import Venue
from ingest.landing.rows import Row
from ingest.recorder.budget import until_next_minute_s
from ingest.recorder.client import LONGEST_BAN_S, LONGEST_WAIT_S, Client
from ingest.recorder.clock import now_ms
from ingest.venues.bybit import BYBIT
from tests.support.servers.api_server import in_one_minute
from tests.support.servers.loopback_venue import HOST, Seen, Server, serving

ENDPOINT = Endpoint("perp_tickers", HOST, "/tickers", "pool")
VENUE = Venue("test", (Pool("pool", 1000, 60),), (ENDPOINT,), ban_s={418: 600, 403: 600})


async def fetch(client: Client, seconds: float = 5, endpoint: Endpoint = ENDPOINT, **params: Any) -> Row:
    deadline = asyncio.get_running_loop().time() + seconds
    return await client.fetch(endpoint, Request("K", 60_000, 0), params, deadline)


def run(
    answer: Callable[[Seen, int], Any], work: Callable[[Client, Server], Any], venue: Venue = VENUE
) -> tuple[Any, Server]:
    """Do the work with a client of a server that answers so."""

    async def with_client(server: Server) -> Any:
        async with Client(venue, server.url) as client:
            return await work(client, server)

    with serving(answer) as server:
        return asyncio.run(with_client(server)), server


def test_a_response_is_a_row_with_the_exact_text() -> None:
    """The row has the request's canonical parameters and the body as it came; no Origin, but a User-Agent is sent."""
    text = '{"a": 1.50,\n "b":"é"}'
    row, server = run(lambda *_: web.Response(text=text), lambda client, _: fetch(client, b="2", a="1"))
    assert row[:6] == (60_000, "test", "perp_tickers", "K", '{"a":"1","b":"2"}', 200)
    assert (row.attempts, row.error, row.body) == (1, None, text)
    assert row.requested_ms <= row.received_ms
    (seen,) = server.seen
    assert seen.path == f"/{HOST}/tickers"
    assert seen.query == {"a": "1", "b": "2"}
    assert "tidemark" in seen.headers["User-Agent"]
    assert "Origin" not in seen.headers


def test_a_post_sends_its_parameters_as_json() -> None:
    endpoint = replace(ENDPOINT, method="POST")
    row, server = run(
        lambda *_: web.json_response([]), lambda client, _: fetch(client, endpoint=endpoint, type="meta", n={"x": 1})
    )
    assert json.loads(server.seen[0].body) == {"type": "meta", "n": {"x": 1}}
    assert row.params == '{"n":{"x":1},"type":"meta"}'


def test_gzip_is_read() -> None:
    packed = web.Response(body=gzip.compress(b"[1,2]"), headers={"Content-Encoding": "gzip"})
    row, _ = run(lambda *_: packed, lambda client, _: fetch(client))
    assert row.body == "[1,2]"


def test_a_server_error_is_tried_again_within_the_minute() -> None:
    row, server = run(
        lambda _, n: web.Response(status=500) if n < 3 else web.json_response([n]), lambda client, _: fetch(client, 20)
    )
    assert (row.status, row.attempts, row.error, row.body) == (200, 3, None, "[3]")
    assert server.count("/tickers") == 3


def test_retries_end_with_the_minute_and_the_row_says_what_failed() -> None:
    row, server = run(lambda *_: web.Response(status=500, text="down"), lambda client, _: fetch(client, 1.5))
    assert (row.status, row.error, row.body) == (500, "HTTP 500", "down")
    assert row.attempts == server.count("/tickers") >= 2


def test_retries_are_spread() -> None:
    """Many requests that failed together do not come back together."""

    async def many(client: Client, server: Server) -> Any:
        return await asyncio.gather(*(fetch(client, 20, n=str(n)) for n in range(12)))

    rows, server = run(lambda seen, n: web.Response(status=500) if n <= 12 else web.json_response([]), many)
    assert all(row.error is None for row in rows)
    again = sorted(seen.at for seen in server.seen)[12:]
    assert max(again) - min(again) > 0.02


def test_a_request_without_a_response_is_a_row() -> None:
    async def never(seen: Seen, n: int) -> web.Response:
        await asyncio.sleep(30)
        return web.Response()

    endpoint = replace(ENDPOINT, timeout_s=0.2)
    row, _ = run(never, lambda client, _: fetch(client, 0.7, endpoint))
    assert (row.status, row.received_ms, row.body) == (None, None, None)
    assert row.error.startswith("no answer within")


def test_a_refused_connection_is_a_row() -> None:
    async def work() -> Row:
        async with Client(VENUE, "http://127.0.0.1:9") as client:
            return await fetch(client, 0.5)

    row = asyncio.run(work())
    assert row.status is None
    assert "127.0.0.1" in (row.error or "")


def test_a_truncated_body_is_tried_again() -> None:
    async def cut(seen: Seen, n: int) -> web.StreamResponse:
        if n > 1:
            return web.json_response({"whole": True})
        return Cut(headers={"Content-Length": "1000"})

    class Cut(web.StreamResponse):
        async def prepare(self, request: web.BaseRequest) -> Any:
            writer = await super().prepare(request)
            await self.write(b'{"half":')
            assert request.transport is not None
            request.transport.close()
            return writer

    row, _ = run(cut, lambda client, _: fetch(client))
    assert (row.status, row.attempts, row.body) == (200, 2, '{"whole": true}')


def test_damaged_text_is_kept_and_named() -> None:
    row, _ = run(lambda *_: web.Response(body=b'{"a":"\xff"}'), lambda client, _: fetch(client, 0.3))
    assert row.status == 200
    assert "not UTF-8 at byte 6" in row.error
    assert row.body == '{"a":"�"}'


def test_a_client_error_is_not_retried_and_its_body_is_kept() -> None:
    row, server = run(lambda *_: web.Response(status=400, text='{"code":-1121}'), lambda client, _: fetch(client))
    assert (row.status, row.error, row.body, row.attempts) == (400, "HTTP 400", '{"code":-1121}', 1)
    assert server.count("/tickers") == 1


def test_retry_after_is_waited_for() -> None:
    """Nothing is sent to the pool before the time that the venue named."""

    async def two(client: Client, server: Server) -> Any:
        first = asyncio.create_task(fetch(client, 10))
        began_ms = now_ms()
        while not client.bans.in_force(("pool pool",), began_ms):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return await asyncio.gather(first, fetch(client, 10, other="1"))

    limited = web.Response(status=429, headers={"Retry-After": "1"})
    rows, server = run(lambda _, n: limited if n == 1 else web.json_response([]), two)
    assert [row.error for row in rows] == [None, None]
    assert all(seen.at - server.seen[0].at >= 1 for seen in server.seen[1:])


@pytest.mark.parametrize("status", [418, 403])
def test_no_request_is_sent_during_a_ban(status: int) -> None:
    """The first row has the venue's answer, later ones say that and until when nothing was asked."""

    async def work(client: Client, server: Server) -> Any:
        return [await fetch(client), await fetch(client, other="1")]

    rows, server = run(lambda *_: web.Response(status=status, text="banned", headers={"Retry-After": "600"}), work)
    assert (rows[0].status, rows[0].error, rows[0].body) == (status, f"HTTP {status}", "banned")
    assert (rows[1].status, rows[1].attempts, rows[1].received_ms) == (None, 0, None)
    assert rows[1].error.startswith(f"not asked: {HOST} banned us (HTTP {status}) until 2")
    assert len(server.seen) == 1


def test_a_ban_lasts_as_long_as_the_body_says() -> None:
    until_ms = now_ms() + 1500
    body = f'{{"code":-1003,"msg":"Way too many requests; IP banned until {until_ms}."}}'

    async def work(client: Client, server: Server) -> Any:
        first = await fetch(client)
        assert (client.bans.in_force((HOST,), until_ms - 1) or (0, ""))[0] == until_ms
        return first, await fetch(client, 10)

    (_, row), _ = run(lambda _, n: web.Response(status=418, text=body) if n == 1 else web.json_response([]), work)
    assert row.error is None
    assert row.requested_ms >= until_ms


@pytest.mark.parametrize("status", [429, 503, 418])
@pytest.mark.parametrize(
    ("asked", "within_s"),
    [
        ("inf", None), ("-inf", None), ("nan", None), ("1e300", None), ("1e5", None), ("-5", None), ("9" * 400, None),
        ("999999999", 1), ("Fri, 31 Dec 9999 23:59:59 GMT", 1), ("Fri, 31 Dec 99999 23:59:59 GMT", None),
        ("Thu, 01 Jan 1970 00:00:00 GMT", None), ("\u0661\u0662", None),
    ],
)  # fmt: skip
def test_no_pause_that_is_asked_for_is_longer_than_an_hour_or_a_ban_than_a_day(
    status: int, asked: str, within_s: int | None
) -> None:
    """What is no time is as if nothing was named. The request was sent, and its row says what was answered."""
    longest_s = LONGEST_BAN_S if status == 418 else LONGEST_WAIT_S

    async def work(client: Client, server: Server) -> Any:
        return await fetch(client, 1), client.bans.in_force((HOST, "pool pool"), now_ms())

    headers = {"Retry-After": asked}
    (row, ban), _ = run(lambda *_: web.Response(status=status, headers=headers), work)
    assert (row.status, row.error, row.attempts > 0) == (status, f"HTTP {status}", True)
    left_s = (ban[0] - now_ms()) / 1000 if ban else 0
    if within_s is None:
        assert left_s <= 600
    else:
        assert longest_s - 60 < left_s <= longest_s


def test_a_ban_that_a_body_names_is_at_most_a_day() -> None:
    async def work(client: Client, server: Server) -> Any:
        return await fetch(client, 1), client.bans.in_force((HOST,), now_ms())

    (row, ban), _ = run(lambda *_: web.Response(status=418, text="banned until 9999999999999"), work)
    assert (row.status, row.error) == (418, "HTTP 418")
    assert 86_300_000 < ban[0] - now_ms() <= 86_400_000


def test_the_bodies_of_a_minute_have_a_limit_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that exceeds it is an error of its request, and the rest of the minute asks for nothing."""
    monkeypatch.setattr("ingest.recorder.client.MINUTE_LIMIT", 3 << 20)

    async def work(client: Client, server: Server) -> Any:
        return [await fetch(client, n=n) for n in range(4)]

    def scenario() -> Any:
        return run(lambda *_: web.Response(body=b'"' + b"a" * (2 << 20) + b'"'), work)

    rows, server = in_one_minute(scenario)
    assert [(row.status, row.attempts) for row in rows] == [(200, 1), (200, 1), (None, 0), (None, 0)]
    assert [row.error for row in rows] == [
        None,
        "more than 3 MB were sent in this minute",
        *["not asked: more than 3 MB were sent in this minute"] * 2,
    ]
    assert rows[1].body is None
    assert len(server.seen) == 2


def test_requests_that_have_the_time_wait_for_the_next_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the past: more lists of files come in a minute than are taken. The recorder's end with their minute."""
    monkeypatch.setattr("ingest.recorder.client.MINUTE_LIMIT", 3 << 20)

    clock = [now_ms()]

    def next_minute_s(at_ms: int) -> float:
        clock[0] = at_ms - at_ms % 60_000 + 60_000
        return 0.01

    monkeypatch.setattr("ingest.recorder.client.now_ms", lambda: clock[0])
    monkeypatch.setattr("ingest.recorder.client.until_next_minute_s", next_minute_s)

    async def work(client: Client, server: Server) -> Any:
        return [await fetch(client, 30, n=n) for n in range(3)]

    rows, server = run(lambda *_: web.Response(body=b'"' + b"a" * (2 << 20) + b'"'), work)
    assert [(row.status, row.error, len(row.body or "")) for row in rows] == [(200, None, (2 << 20) + 2)] * 3
    assert [row.requested_ms // 60_000 - rows[0].requested_ms // 60_000 for row in rows] == [0, 1, 2]
    assert [row.attempts for row in rows] == [1, 2, 2]
    assert len(server.seen) == 5


def test_the_end_of_a_minute() -> None:
    assert [until_next_minute_s(at_ms) for at_ms in (60_000, 60_001, 119_999)] == [60.0, 59.999, 0.001]


def test_a_body_that_is_too_long_is_an_error_and_not_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.recorder.client.BODY_LIMIT", 1 << 20)
    row, server = run(lambda *_: web.Response(body=b" " * (2 << 20)), lambda client, _: fetch(client))
    assert (row.status, row.error, row.body, row.attempts) == (200, "the body is longer than 1 MB", None, 1)
    assert len(server.seen) == 1


def test_a_fault_in_reading_an_answer_is_an_error_of_a_request_that_was_sent() -> None:
    def broken(raw: bytes) -> bytes:
        raise ZeroDivisionError

    row, _ = run(
        lambda *_: web.json_response([]), lambda client, _: fetch(client, endpoint=replace(ENDPOINT, decode=broken))
    )
    assert (row.status, row.attempts, row.error) == (200, 1, "ZeroDivisionError()")


def test_a_ban_of_one_host_leaves_the_other_alone() -> None:
    other = replace(ENDPOINT, host="other.test")

    async def work(client: Client, server: Server) -> Any:
        return await fetch(client), await fetch(client, endpoint=other)

    (_, row), _ = run(lambda seen, _: web.Response(status=418) if HOST in seen.path else web.json_response([]), work)
    assert row.error is None


def test_the_venues_own_error_inside_a_200_is_an_error() -> None:
    venue = replace(VENUE, fault=BYBIT.fault)
    bodies = ['{"retCode":10006,"retMsg":"Too many visits!","result":{}}', '{"retCode":0,"retMsg":"OK","result":{}}']
    row, _ = run(lambda _, n: web.Response(text=bodies[n - 1]), lambda client, _: fetch(client), venue)
    assert (row.error, row.attempts) == (None, 2)
    row, _ = run(lambda *_: web.Response(text=bodies[0]), lambda client, _: fetch(client, 0.2), venue)
    assert row.error == "retCode 10006: Too many visits!"
    assert row.body == bodies[0]


def test_the_budget_is_never_exceeded_at_the_server() -> None:
    """Counted where the venue counts: in no window more weight arrives than allowed, failures and retries included."""
    venue = replace(VENUE, pools=(Pool("pool", 10, 0.5),))
    endpoint = replace(ENDPOINT, weight=2)

    async def many(client: Client, server: Server) -> Any:
        return await asyncio.gather(*(fetch(client, 30, endpoint, n=str(n)) for n in range(25)))

    rows, server = run(lambda _, n: web.Response(status=500) if n % 7 == 0 else web.json_response([]), many, venue)
    assert all(row.error is None for row in rows)
    times = sorted(seen.at for seen in server.seen)
    assert len(times) > 25
    assert all(sum(2 for at in times if start <= at < start + 0.5) <= 10 for start in times)


def test_a_request_beyond_the_rate_limit_is_a_row() -> None:
    venue = replace(VENUE, pools=(Pool("pool", 3, 60),))

    async def many(client: Client, server: Server) -> Any:
        return await asyncio.gather(*(fetch(client, 5, n=str(n)) for n in range(5)))

    rows, server = run(lambda *_: web.json_response([]), many, venue)
    refused = [row for row in rows if row.error]
    assert len(server.seen) == 3
    assert len(refused) == 2
    assert all("the budget of 3 per 60 s (pool) was spent" in row.error for row in refused)
