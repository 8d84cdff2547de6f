"""WebSocket streams: permanent connections with heartbeats, reconnects, and topics that follow the venue's symbols."""

import asyncio
import logging
import random
import re
from collections.abc import Callable

import aiohttp

from ingest.declaration.endpoint import Stream
from ingest.declaration.venue import Venue, url_of
from ingest.landing.rows import Row
from ingest.recorder.budget import Bytes
from ingest.recorder.client import USER_AGENT
from ingest.recorder.clock import minute_start, now_ms
from ingest.recorder.schedule import Catalogue
from ingest.recorder.shares import Shares
from ingest.recorder.span import STOPPED, Span

log = logging.getLogger(__name__)

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
CONNECT_S, CONFIRM_S = 10.0, 10.0
STEADY_MS = 60_000
"""A connection that lasted this long resets the pauses, ms."""
PING_S = 30.0
FRAME_LIMIT, MINUTE_LIMIT = 16 * 2**20, 64 * 2**20
"""Bytes of a message, and of all messages of a connection in a minute: more than any known stream sends."""
NAMED_TOPIC = re.compile(r"topic:\s*[\w.]*\.(\w+)")


class StreamRecorder:
    """Keeps one connection of a stream until it is cancelled; each fragment and each failed connection is a row."""

    def __init__(
        self,
        venue: Venue,
        stream: Stream,
        venues_url: str | None,
        catalogue: Catalogue,
        minute_ms: int,
        emit: Callable[[Row], None],
        shares: Shares | None = None,
        connection: int = 0,
        recorder: str = "",
    ) -> None:
        """`recorder` names the process that listens: the key of its rows is `connection@recorder`."""
        self.venue, self.stream = venue, stream
        self.connected = False
        self._shares = shares or Shares(1, stream.topics_each)
        self._connection = connection
        self._key = str(connection + 1) if stream.connections > 1 else stream.key
        self._row_key = f"{self._key}@{recorder}" if recorder else self._key
        self._url = url_of(stream.host, stream.path, venues_url, websocket=True)
        self._catalogue = catalogue
        self._minute_ms = minute_ms
        self._emit = emit
        self._name = " ".join(filter(None, (venue.name, stream.name, self._key)))
        self._span: Span | None = None
        self._early: list[str] = []
        self._subscribed: set[str] = set()
        self._refused: set[str] = set()
        self._reason: str | None = None
        self._bytes = Bytes(MINUTE_LIMIT)

    async def run(self) -> None:
        """Connect, listen, and reconnect after a pause that grows while connections fail."""
        failures = 0
        async with aiohttp.ClientSession(headers={"User-Agent": USER_AGENT, **self.venue.headers}) as session:
            while True:
                if self.stream.topics and not self._wanted():
                    await self._wait_for_topics()
                began_ms = now_ms()
                reason = await self._connect(session)
                failures = 0 if now_ms() - began_ms >= STEADY_MS else failures + 1
                pause_s = random.uniform(0.5, 1) * min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(failures, 10))
                if self._bytes.spent(now_ms()):
                    pause_s += 60 - now_ms() % 60_000 / 1000
                log.warning("%s: %s; connecting again in %.1f s", self._name, reason, pause_s)
                await asyncio.sleep(pause_s)

    async def _connect(self, session: aiohttp.ClientSession) -> str:
        """One connection from its start to its end; returns why it ended."""
        self._span, self._reason, self._subscribed, self._early = None, None, set(), []
        reason = STOPPED
        try:
            async with asyncio.timeout(CONNECT_S):
                ws = await session.ws_connect(
                    self._url,
                    # Without a heartbeat of the venue's own a WebSocket ping proves that the connection works.
                    heartbeat=None if self.stream.heartbeat else PING_S,
                    max_msg_size=FRAME_LIMIT,
                    timeout=aiohttp.ClientWSTimeout(ws_close=2),
                )
            async with ws:
                reason = await self._listen(ws)
        except TimeoutError:
            reason = f"no connection within {CONNECT_S:g} s"
        except aiohttp.WSServerHandshakeError as error:
            reason = f"HTTP {error.status} instead of a WebSocket"
        except (aiohttp.ClientError, OSError) as error:
            reason = f"{type(error).__name__}: {error}"
        finally:
            self.connected = False
            if self._span:
                self._span.close(reason)
            elif reason != STOPPED:
                self._failed(reason)
        return reason

    async def _listen(self, ws: aiohttp.ClientWebSocketResponse) -> str:
        self._asked_at = asyncio.get_running_loop().time()
        if self.stream.subscribe:
            await self._follow_topics(ws)
        else:
            self._open()
        attendant = asyncio.create_task(self._attend(ws))
        try:
            async for message in ws:
                self._heard = asyncio.get_running_loop().time()
                data = message.data if isinstance(message.data, str | bytes) else b""
                if self._bytes.take(len(data), now_ms()):
                    self._reason = str(self._bytes)
                    await ws.close()
                    break
                if message.type == aiohttp.WSMsgType.TEXT:
                    await self._frame(ws, message.data)
                elif message.type == aiohttp.WSMsgType.BINARY:
                    await self._frame(ws, message.data.decode(errors="backslashreplace"))
                elif message.type == aiohttp.WSMsgType.ERROR:
                    # A frame that breaks the protocol, or a message that is too long: we close, not the venue.
                    self._reason = f"{type(message.data).__name__}: {message.data}"
                    break
        finally:
            attendant.cancel()
            # Its own error (a send on a connection that just closed) says less than the reason below.
            await asyncio.gather(attendant, return_exceptions=True)
        if self._reason:
            return self._reason
        if error := ws.exception():
            return f"{type(error).__name__}: {error}"
        return f"closed by the venue (code {ws.close_code})"

    async def _frame(self, ws: aiohttp.ClientWebSocketResponse, frame: str) -> None:
        stream = self.stream
        if stream.skip and stream.skip(frame):
            return
        if refusal := stream.refused(frame) if stream.refused else None:
            log.error("%s: %s", self._name, refusal)
            if topic := NAMED_TOPIC.search(frame):
                self._refused.add(topic[1])
            self._reason = refusal
            await ws.close()
            return
        if self._span is None and self._wanted() <= self._subscribed:
            self._open()
        if self._span:
            self._span.message(frame)
        else:
            self._early.append(frame)

    def _open(self) -> None:
        self._span = Span(self.venue.name, self.stream.name, self._row_key, self._minute_ms, self._emit)
        for frame in self._early:
            self._span.message(frame)
        self._early.clear()
        self.connected = True
        log.info("%s: listening", self._name)

    async def _attend(self, ws: aiohttp.ClientWebSocketResponse) -> None:
        """What is due whether frames arrive or not: fragments, heartbeats, new topics, the limits of a connection."""
        loop, stream = asyncio.get_running_loop(), self.stream
        began = self._heard = loop.time()
        beat = began
        while True:
            to_minute_s = (self._minute_ms - now_ms() % self._minute_ms) / 1000
            await asyncio.sleep(min(1.0, to_minute_s))
            now = loop.time()
            if self._span:
                self._span.attend()
            elif now - self._asked_at > CONFIRM_S:
                self._reason = f"the subscription was not confirmed within {CONFIRM_S:g} s"
            if now - self._heard > stream.silence_s:
                self._reason = f"silent for {stream.silence_s:g} s"
            elif now - began > stream.life_s:
                self._reason = "reconnected before the venue's limit on a connection's life"
            if self._reason:
                await ws.close()
                return
            if stream.heartbeat and now - beat >= stream.heartbeat_s:
                beat = now
                await ws.send_str(stream.heartbeat)
            if stream.subscribe:
                await self._follow_topics(ws)

    async def _follow_topics(self, ws: aiohttp.ClientWebSocketResponse) -> None:
        """Subscribe to new symbols and unsubscribe from those that no longer exist."""
        wanted, subscribe = self._wanted(), self.stream.subscribe
        if subscribe is None or wanted == self._subscribed:
            return
        most = self.stream.topics_per_s
        for operation, symbols in (
            ("subscribe", sorted(wanted - self._subscribed)[:most]),
            ("unsubscribe", sorted(self._subscribed - wanted)[:most]),
        ):
            for message in subscribe(operation, symbols) if symbols else []:
                await ws.send_str(message)
            self._subscribed ^= set(symbols)
        self._asked_at = asyncio.get_running_loop().time()

    def _all_topics(self) -> list[str]:
        ranks = (self._catalogue.keys(self.stream.topics) if self.stream.topics else None) or {}
        return sorted(ranks, key=lambda topic: (-ranks[topic], topic))

    def _wanted(self) -> set[str]:
        return self._shares.of(self._connection, self._all_topics()) - self._refused

    async def _wait_for_topics(self) -> None:
        waited_s = 0
        while not self._wanted():
            if waited_s % 60 == 10 and self.stream.topics and not self._all_topics():
                self._failed(f"not connected: {self.stream.topics.endpoint} gave no symbols yet")
            await asyncio.sleep(1)
            waited_s += 1

    def _failed(self, reason: str) -> None:
        at_ms = now_ms()
        tick_ms = minute_start(at_ms, self._minute_ms)
        name = self.stream.name
        self._emit(Row(tick_ms, self.venue.name, name, self._row_key, "{}", None, at_ms, at_ms, 1, reason, None))
