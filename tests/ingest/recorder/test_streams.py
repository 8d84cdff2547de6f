"""WebSocket streams against a real server: spans that touch, reconnects, subscriptions, refusals."""

import json
from typing import Any

import orjson
import pytest
from aiohttp import web

from ingest.declaration.endpoint import Pool, Stream
from ingest.declaration.venue import Venue
from ingest.landing.rows import Row
from ingest.recorder.schedule import Catalogue
from ingest.venues.bybit import ARGS_LIMIT, BYBIT
from tests.support.servers.loopback_stream import TICKERS, listening, messages, on, until
from tests.support.servers.loopback_venue import HOST, Server, serving

PLAIN = Stream("liquidations", HOST, "/ws")
BYBIT_STREAM, _ = BYBIT.streams


def tickers(*symbols: str) -> Row:
    rows = [{"symbol": symbol, "turnover24h": "1"} for symbol in symbols]
    body = json.dumps({"result": {"category": "linear", "list": rows}})
    return Row(0, "test", "perp_tickers", "", "{}", 200, 0, 1, 1, None, body)


@pytest.fixture
def server() -> Any:
    with serving(lambda seen, n: web.json_response([])) as started:
        yield started


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


async def test_a_connection_that_sends_too_much_is_left_until_the_next_minute(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.recorder.streams.MINUTE_LIMIT", 1 << 20)
    async with listening(PLAIN, server) as rows:
        await until(lambda: server.sockets)
        for _ in range(3):
            await on(server, server.send('"' + "a" * 500_000 + '"'))
        await until(lambda: rows and rows[-1].error)
        assert rows[-1].error == "more than 1 MB were sent in this minute"
        assert sum(len(message) for message in messages(rows)) == 1_000_000
        assert server.connects == 1


async def test_a_message_that_is_too_long_ends_the_connection(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.recorder.streams.FRAME_LIMIT", 1000)
    async with listening(PLAIN, server) as rows:
        await until(lambda: server.sockets)
        await on(server, server.send('"' + "a" * 2000 + '"'))
        await until(lambda: rows and rows[-1].error)
    assert messages(rows) == []
    assert str(rows[-1].error).startswith("WebSocketError: Message size 2002 exceeds limit 1000")


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
