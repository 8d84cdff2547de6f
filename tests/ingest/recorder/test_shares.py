"""A stream over several connections: topics are divided and keep their connection, and the limit on messages is
kept."""

import asyncio
import json
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
from aiohttp import web

from ingest.declaration.endpoint import Body, Endpoint, Keys, Pool, Stream
from ingest.declaration.venue import Venue
from ingest.landing.rows import Row
from ingest.recorder.recorder import Recorder
from ingest.recorder.schedule import Catalogue
from ingest.recorder.shares import Shares
from ingest.recorder.streams import StreamRecorder
from tests.support.servers.loopback_stream import messages, on, until
from tests.support.servers.loopback_venue import HOST, Server, serving

LIST = Endpoint("list", HOST, "/list", "all")


def ranked(body: Body) -> list[tuple[str, float]]:
    return [(name, float(rank)) for name, rank in body.items()]


def subscribe(operation: str, topics: list[str]) -> list[str]:
    return [json.dumps({"type": operation, "channel": topic}) for topic in topics]


TOPICS = Keys("list", ranked)


def listed(**topics: int) -> Row:
    return Row(0, "test", "list", "", "{}", 200, 0, 1, 1, None, json.dumps(topics))


@pytest.fixture
def server() -> Any:
    with serving(lambda seen, n: web.json_response([])) as started:
        yield started


def test_topics_spread_evenly_and_stay_where_they_are() -> None:
    shares = Shares(3, None)
    names = [f"t{n:03}" for n in range(200)]
    first = [shares.of(n, names) for n in range(3)]
    assert sorted(map(len, first)) == [66, 67, 67]
    assert set().union(*first) == set(names)
    changed = ["new", *names[:50], *names[60:]]
    second = [shares.of(n, changed) for n in range(3)]
    assert set().union(*second) == set(changed)
    assert sum(map(len, second)) == len(changed)
    for before, after in zip(first, second, strict=True):
        assert before & set(changed) == after - {"new"}


def test_topics_beyond_the_connections_capacity_are_the_least_important() -> None:
    shares = Shares(2, 3)
    held = [shares.of(n, ["a", "b", "c", "d", "e", "f", "g", "h"]) for n in range(2)]
    assert set().union(*held) == {"a", "b", "c", "d", "e", "f"}
    assert [shares.of(n, ["b", "c", "d", "e", "f", "g", "h"]) for n in range(2)] == [
        held[0] - {"a"} | ({"g"} if "a" in held[0] else set()),
        held[1] - {"a"} | ({"g"} if "a" in held[1] else set()),
    ]


async def test_connections_share_the_topics_and_write_rows_of_their_own(server: Server) -> None:
    stream = Stream("liquidations", HOST, "/ws", topics=TOPICS, subscribe=subscribe, connections=3)
    venue = Venue("test", (Pool("all", 100, 1),), (LIST,), (stream,))
    catalogue, shares, rows = Catalogue(venue), Shares(3, None), list[Row]()
    catalogue.learn(listed(a=5, b=4, c=3, d=2, e=1))
    recorders = [StreamRecorder(venue, stream, server.url, catalogue, 60_000, rows.append, shares, n) for n in range(3)]
    tasks = [asyncio.create_task(one.run()) for one in recorders]
    try:
        await until(lambda: all(one.connected for one in recorders))
        await until(lambda: len(server.frames) == 5)
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
    assert Counter(json.loads(frame)["channel"] for frame in server.frames) == Counter("abcde")
    assert server.connects == 3
    assert {row.key for row in rows} == {"1", "2", "3"}


async def test_subscriptions_are_paced_and_nothing_that_came_meanwhile_is_lost(server: Server) -> None:
    """One topic a second: the span opens with the last of them and holds what earlier ones had sent."""
    stream = Stream("liquidations", HOST, "/ws", topics=TOPICS, subscribe=subscribe, topics_per_s=1)
    venue = Venue("test", (Pool("all", 100, 1),), (LIST,), (stream,))
    catalogue, rows = Catalogue(venue), list[Row]()
    catalogue.learn(listed(a=3, b=2, c=1))
    recorder = StreamRecorder(venue, stream, server.url, catalogue, 60_000, rows.append)
    task = asyncio.create_task(recorder.run())
    try:
        await until(lambda: len(server.frames) == 1)
        await on(server, server.send('{"n":1}'))
        await until(lambda: len(server.frames) == 2)
        assert not recorder.connected
        await until(lambda: recorder.connected)
        assert len(server.frames) == 3
        await on(server, server.send('{"n":2}'))
        await until(lambda: {"n": 2} in messages(rows))
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    assert [message for message in messages(rows) if "n" in message] == [{"n": 1}, {"n": 2}]
    assert {row.key for row in rows} == {""}


def test_the_recorder_makes_every_connection(tmp_path: Any) -> None:
    stream = Stream("liquidations", HOST, "/ws", topics=TOPICS, subscribe=subscribe, connections=3)
    venue = Venue("test", (Pool("all", 100, 1),), (LIST,), (stream,))
    recorder = Recorder(tmp_path, str(tmp_path / "landing"), None, (venue,))
    assert len(recorder._streams()) == 3
