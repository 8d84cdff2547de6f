"""A small real venue on loopback, and a recorder of it as a process of its own, for the tests of the recorder."""

import asyncio
import json
import logging
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb
from aiohttp import WSMsgType, web

from ingest.declaration.endpoint import Endpoint, Pool, Request
from ingest.declaration.venue import Venue
from ingest.landing.loads import committed_loads
from ingest.recorder.recorder import Pace, record

HOST = "venue.test"
FAST = Pace(minute_ms=1000, land_after_ms=300, give_up_after_ms=900, least_ms=900)


@dataclass
class Seen:
    """One request as the server saw it."""

    at: float
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: str


@dataclass
class Server:
    """`answer(seen, n)` gives the response of the n-th request (from 1) to its path."""

    answer: Callable[[Seen, int], Awaitable[web.StreamResponse] | web.StreamResponse]
    seen: list[Seen] = field(default_factory=list)
    frames: list[str] = field(default_factory=list)
    sockets: list[web.WebSocketResponse] = field(default_factory=list)
    connects: int = 0
    refuse: bool = False
    url: str = ""
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)

    def count(self, path: str) -> int:
        return sum(1 for seen in self.seen if seen.path.endswith(path))

    def call(self, work: Any) -> Any:
        """Run a coroutine on the server's loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(10)

    async def send(self, text: str) -> None:
        for socket in self.sockets:
            await socket.send_str(text)

    async def drop(self) -> None:
        for socket in list(self.sockets):
            await socket.close()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Upgrade") == "websocket":
            return await self._socket(request)
        seen = Seen(time.monotonic(), request.path, dict(request.query), dict(request.headers), await request.text())
        self.seen.append(seen)
        answer = self.answer(seen, self.count(request.path))
        return answer if isinstance(answer, web.StreamResponse) else await answer

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        self.connects += 1
        if self.refuse:
            return web.Response(status=503)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.sockets.append(socket)
        async for message in socket:
            if message.type == WSMsgType.TEXT:
                self.frames.append(message.data)
                if '"subscribe"' in message.data:
                    await socket.send_str('{"success":true,"ret_msg":"","op":"subscribe"}')
                elif '"ping"' in message.data:
                    await socket.send_str('{"success":true,"ret_msg":"pong","op":"ping"}')
        self.sockets.remove(socket)
        return socket

    async def _serve(self, started: threading.Event) -> None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        self.stop = asyncio.Event()
        started.set()
        await self.stop.wait()
        await self.drop()
        await runner.cleanup()


@contextmanager
def serving(answer: Callable[[Seen, int], Awaitable[web.StreamResponse] | web.StreamResponse]) -> Iterator[Server]:
    """A server in a thread of its own."""
    server, started = Server(answer), threading.Event()
    thread = threading.Thread(target=lambda: server.loop.run_until_complete(server._serve(started)))
    thread.start()
    try:
        assert started.wait(10)
        yield server
    finally:
        server.loop.call_soon_threadsafe(server.stop.set)
        thread.join(20)


def until(condition: Callable[[], Any], seconds: float = 30) -> Any:
    """Poll until the condition holds; its value."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
    return value


def landed(landing: Path | str) -> list[dict[str, Any]]:
    """Every row of the committed loads."""
    files = [file for load in committed_loads(str(landing)) for file in load.files]
    if not files:
        return []
    cursor = duckdb.connect().execute("select * from read_parquet($1)", [files])
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def identity(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("tick_ms", "venue", "endpoint", "key", "params", "requested_ms"))


def minute_of(request: Request) -> dict[str, Any]:
    return {"minute": request.tick_ms}


def next_number(body: Any) -> dict[str, Any]:
    return {"from": body["n"] + 1}


def numbered(seen: Seen, n: int) -> web.Response:
    """Every answer is another one."""
    return web.json_response({"n": n, "padding": "x" * 200})


def surely_received(server: Server) -> set[int]:
    """Numbers that the recorder had before it died: within a minute, page after page is asked, each after the row of
    the one before was taken. Only the last request of a minute can have been under way."""
    last = {seen.query["minute"]: n for n, seen in enumerate(server.seen, 1)}
    return set(range(1, len(server.seen) + 1)) - set(last.values())


NUMBERED = Venue(
    "numbered",
    (Pool("all", 100_000, 1),),
    (Endpoint("instruments", HOST, "/numbers", "all", minute_of, next_page=next_number),),
)

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    home, landing, url = sys.argv[1:4]
    options = json.loads(sys.argv[4]) if len(sys.argv) > 4 else {}
    pace = replace(FAST, minute_ms=options.get("minute_ms", FAST.minute_ms))
    asyncio.run(record(Path(home), landing, url, once=options.get("once", False), venues=(NUMBERED,), pace=pace))
