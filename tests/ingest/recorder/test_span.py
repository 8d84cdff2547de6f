"""The listening time of a connection as rows: no gap or overlap, none across a minute, every frame in its own
minute."""

import asyncio
import itertools
import json
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from ingest.declaration.endpoint import Stream
from ingest.landing.rows import Row
from ingest.recorder.span import Span
from tests.support.servers.loopback_stream import listening, messages, on, until
from tests.support.servers.loopback_venue import HOST, Server, serving

PLAIN = Stream("liquidations", HOST, "/ws")


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


async def test_a_frame_is_stored_unchanged(server: Server) -> None:
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


EVENTS = st.lists(st.tuples(st.integers(0, 4_000), st.sampled_from(["message", "attend", "half {"])), max_size=30)


@given(EVENTS, st.integers(0, 999))
def test_fragments_cover_the_connection_whatever_happens_when(events: list[tuple[int, str]], begin: int) -> None:
    """With a clock that moves on by so many ms before each event, and is set back once."""
    rows, now = list[Row](), 1_000_000 + begin
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ingest.recorder.span.now_ms", lambda: now)
        span = Span("test", "liquidations", "", 1_000, rows.append)
        for n, (passed, event) in enumerate(events):
            now += passed if n != 7 else -passed
            if event == "attend":
                span.attend()
            else:
                span.message(f"{n}" if event == "message" else event)
        now += 1
        span.close("the end")
    assert rows[0].requested_ms == 1_000_000 + begin
    assert all(before.received_ms == after.requested_ms for before, after in itertools.pairwise(rows))
    heard = [entry["message"] for row in rows for entry in json.loads(row.body or "")]
    assert heard == [n if event == "message" else event for n, (_, event) in enumerate(events) if event != "attend"]
    for row in rows:
        assert row.received_ms is not None
        assert row.tick_ms <= row.requested_ms <= row.received_ms <= row.tick_ms + 1_000
        assert all(row.requested_ms <= one["received_ms"] <= row.received_ms for one in json.loads(row.body or ""))
    assert (rows[-1].error or "").startswith("the end")
    broken = sum(event == "half {" for _, event in events)
    noted = [int(row.error.split("; ")[-1].split()[0]) for row in rows if row.error and "not JSON" in row.error]
    assert sum(noted) == broken
