"""WebSocket streams against a real server: spans that touch, reconnects, subscriptions, refusals."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import orjson
import pytest
from aiohttp import web

from ingest.declaration.endpoint import Endpoint, Pool, Stream
from ingest.declaration.venue import Venue
from ingest.landing.rows import Row
from ingest.recorder.schedule import Catalogue
from ingest.recorder.streams import StreamRecorder
from ingest.venues.bybit import ARGS_LIMIT, BYBIT
from tests.support.servers.loopback_venue import HOST, Server, serving

PLAIN = Stream("liquidations", HOST, "/ws")
TICKERS = Endpoint("perp_tickers", HOST, "/tickers", "all")
(BYBIT_STREAM,) = BYBIT.streams


def tickers(*symbols: str) -> Row:
    rows = [{"symbol": symbol, "turnover24h": "1"} for symbol in symbols]
    body = json.dumps({"result": {"list": rows}})
    return Row(0, "test", "perp_tickers", "", "{}", 200, 0, 1, 1, None, body)


@asynccontextmanager
async def listening(
    stream: Stream, server: Server, minute_ms: int = 60_000, catalogue: Catalogue | None = None
) -> AsyncIterator[list[Row]]:
    """The rows of a stream recorder that runs until the end of the block."""
    venue = Venue("test", (Pool("all", 100, 1),), (TICKERS,), (stream,))
    rows: list[Row] = []
    recorder = StreamRecorder(venue, stream, server.url, catalogue or Catalogue(venue), minute_ms, rows.append)
    task = asyncio.create_task(recorder.run())
    try:
        yield rows
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def until(condition: Callable[[], Any], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def on(server: Server, work: Any) -> Any:
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, server.loop))


def messages(rows: list[Row]) -> list[Any]:
    return [entry["message"] for row in rows for entry in json.loads(row.body or "[]")]


@pytest.fixture
def server() -> Any:
    with serving(lambda seen, n: web.json_response([])) as started:
        yield started


async def test_spans_touch_and_hold_every_message_in_its_minute(server: Server) -> None:
    """Fragments follow each other to the millisecond, none crosses a minute, and messages lie inside theirs."""
    async with listening(PLAIN, server, minute_ms=500) as rows:
        await until(lambda: server.sockets)
        for n in itertools.count():
            await on(server, server.send(json.dumps({"n": n})))
            await asyncio.sleep(0.005)
            if len(rows) >= 4:
                break
        await until(lambda: messages(rows) and messages(rows)[-1] == {"n": n})
    assert messages(rows) == [{"n": k} for k in range(n + 1)]
    assert all(before.received_ms == after.requested_ms for before, after in itertools.pairwise(rows))
    for row in rows:
        assert row.status == 101
        assert row.received_ms is not None
        assert row.tick_ms <= row.requested_ms <= row.received_ms <= row.tick_ms + 500
        for entry in json.loads(row.body or ""):
            assert row.requested_ms <= entry["received_ms"] <= row.received_ms
    assert [row.error for row in rows] == [None] * (len(rows) - 1) + ["the recorder was stopped"]


async def test_a_quiet_minute_is_an_empty_span(server: Server) -> None:
    async with listening(PLAIN, server, minute_ms=300) as rows:
        await until(lambda: len(rows) >= 3)
    assert {row.body for row in rows} == {"[]"}


async def test_the_frame_is_kept_as_it_came(server: Server) -> None:
    frame = '{"p": "1.50",  "q":1e3}'
    async with listening(PLAIN, server) as rows:
        await until(lambda: server.sockets)
        await on(server, server.send(frame))
        await on(server, server.send("half {"))
        await until(lambda: rows)
    text = "".join(row.body or "" for row in rows)
    assert frame in text
    assert messages(rows)[1] == "half {"
    assert "1 frames were not JSON: kept as text" in "".join(row.error or "" for row in rows)


async def test_a_lost_connection_ends_the_span_and_is_made_again(server: Server) -> None:
    """The span says why it ended, and the time without a connection has no span."""
    async with listening(PLAIN, server) as rows:
        await until(lambda: server.sockets)
        await on(server, server.drop())
        await until(lambda: len(server.sockets) == 1 and server.connects == 2)
        await on(server, server.send("1"))
        await until(lambda: messages(rows) == [1])
    assert rows[0].error == "closed by the venue (code 1000)"
    assert rows[0].received_ms is not None
    assert rows[1].requested_ms > rows[0].received_ms


async def test_a_failed_connect_is_a_row(server: Server) -> None:
    server.refuse = True
    async with listening(PLAIN, server) as rows:
        await until(lambda: len(rows) >= 2)
        server.refuse = False
        await until(lambda: server.sockets)
    for row in rows[:2]:
        assert (row.status, row.body, row.error) == (None, None, "HTTP 503 instead of a WebSocket")
        assert row.requested_ms == row.received_ms


async def test_silence_and_age_end_a_connection(server: Server) -> None:
    silent = Stream("liquidations", HOST, "/ws", silence_s=0.5)
    async with listening(silent, server) as rows:
        await until(lambda: server.connects >= 2)
    assert rows[0].error == "silent for 0.5 s"
    aged = Stream("liquidations", HOST, "/ws", life_s=0.5)
    async with listening(aged, server) as rows:
        await until(lambda: rows)
    assert rows[0].error == "reconnected before the venue's limit on a connection's life"


async def test_topics_follow_the_symbols(server: Server) -> None:
    """Nothing is opened without symbols; new ones are subscribed to and old ones left on the open connection."""
    venue = Venue("test", (Pool("all", 100, 1),), (TICKERS,), (BYBIT_STREAM,))
    catalogue = Catalogue(venue)
    stream = Stream(
        "liquidations", HOST, "/ws", BYBIT_STREAM.topics, BYBIT_STREAM.subscribe,
        '{"op":"ping"}', 0.2, BYBIT_STREAM.skip, BYBIT_STREAM.refused, silence_s=30,
    )  # fmt: skip
    async with listening(stream, server, catalogue=catalogue) as rows:
        catalogue.learn(tickers("BTCUSDT", "ETHUSDT", "BTC-27MAR26"))
        await until(lambda: any("subscribe" in frame for frame in server.frames))
        catalogue.learn(tickers("BTCUSDT", "NEWUSDT"))
        await until(lambda: any("unsubscribe" in frame for frame in server.frames))
        await until(lambda: server.frames.count('{"op":"ping"}') >= 2)
    sent = [json.loads(frame) for frame in server.frames if "ping" not in frame]
    assert sent == [
        {"op": "subscribe", "args": ["allLiquidation.BTCUSDT", "allLiquidation.ETHUSDT"]},
        {"op": "subscribe", "args": ["allLiquidation.NEWUSDT"]},
        {"op": "unsubscribe", "args": ["allLiquidation.ETHUSDT"]},
    ]
    assert server.connects == 1
    assert rows
    assert all(message["op"] == "subscribe" for message in messages(rows))


async def test_a_refused_topic_is_left_out(server: Server) -> None:
    """The venue refuses a whole message for one topic: the connection is made again without that topic."""
    venue = Venue("test", (Pool("all", 100, 1),), (TICKERS,), (BYBIT_STREAM,))
    catalogue = Catalogue(venue)
    catalogue.learn(tickers("BTCUSDT", "BADUSDT"))
    stream = Stream(
        "liquidations", HOST, "/ws", BYBIT_STREAM.topics, BYBIT_STREAM.subscribe,
        BYBIT_STREAM.heartbeat, 20, BYBIT_STREAM.skip, BYBIT_STREAM.refused,
    )  # fmt: skip
    refusal = '{"success":false,"ret_msg":"error:handler not found,topic:allLiquidation.BADUSDT","op":"x"}'
    async with listening(stream, server, catalogue=catalogue) as rows:
        await until(lambda: server.frames)
        await on(server, server.send(refusal))
        await until(lambda: len(server.frames) == 2)
    assert json.loads(server.frames[1])["args"] == ["allLiquidation.BTCUSDT"]
    assert "subscription refused" in (rows[0].error or "")


def test_bybit_messages_stay_under_its_limit() -> None:
    subscribe = BYBIT_STREAM.subscribe
    assert subscribe is not None
    symbols = [f"COIN{n:05d}USDT" for n in range(2000)]
    sent = subscribe("subscribe", symbols)
    assert [topic for text in sent for topic in orjson.loads(text)["args"]] == [f"allLiquidation.{s}" for s in symbols]
    assert all(len(orjson.dumps(orjson.loads(text)["args"])) <= ARGS_LIMIT for text in sent)
