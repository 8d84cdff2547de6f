"""Sanic's request and response as this server needs them: the one module that goes beyond Sanic's defaults.

`tests/serve/http/test_sanic.py` fails first when an upgrade of Sanic changes what is relied on here.
"""

import asyncio
import inspect
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import unquote_to_bytes

from sanic import Request, Sanic
from sanic.exceptions import BadURL
from sanic.response import HTTPResponse
from sanic.server import runners
from sanic.worker.manager import WorkerManager

# Percent-encoded characters that RFC 3986 6.2.2.2 equates with the plain ones: letters, digits and -._~
UNRESERVED = re.compile(rb"%(?:2[DdEe]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee])")

# The path of no route.
NOWHERE = b"/*"


class NormalizedRequest(Request):
    """A request for which /api/%6Darkets is /api/markets, and whose URL need not parse: `unparsed` has such a URL.

    Sanic's router compares paths as they were sent, and Sanic answers a URL that does not parse by closing the
    connection. By the public argument `request_class` of the application.
    """

    __slots__ = ("unparsed",)

    def __init__(self, url_bytes: bytes, headers: Any, version: str, method: str, *args: Any, **kwargs: Any) -> None:
        if b"%" in url_bytes:
            path, mark, query = url_bytes.partition(b"?")
            url_bytes = UNRESERVED.sub(lambda match: unquote_to_bytes(match[0]), path) + mark + query
        self.unparsed = b""
        try:
            # The whole server, which only OPTIONS is for: to the router it would be the index.
            if url_bytes == b"*" and method != "OPTIONS":
                raise BadURL("* names no path")
            super().__init__(url_bytes, headers, version, method, *args, **kwargs)
        except BadURL:
            self.unparsed = url_bytes
            super().__init__(NOWHERE, headers, version, method, *args, **kwargs)


class PreparedResponse(HTTPResponse):
    """A response whose headers were encoded when it was made: `lines`, with an end of line before each.

    Sanic joins the pairs of the public property `processed_headers` to lines, so that one value can contain the lines
    after it. With 12 headers that gives 1.7 times the responses per CPU second of a dict that Sanic encodes, and 1.2
    times those of pairs that were encoded before (`python -m benchmarks.headers`).
    """

    __slots__ = ("lines",)

    def __init__(self, status: int, data: bytes, lines: bytes) -> None:
        super().__init__(data, status)
        self.lines = lines

    @property
    def processed_headers(self) -> Iterator[tuple[bytes, bytes]]:
        """The connection header, which Sanic decides, then the lines."""
        yield b"connection", self.headers["connection"].encode() + self.lines


class Server(Sanic[Any, Any]):
    """An application that ends at SIGTERM and SIGINT, once and whenever they come after `listen_to_signals`.

    Sanic listens to them only when the server already answers, and stops the event loop then. While a server starts,
    Sanic runs the loop once for each step: a stop would end only such a step, and uvloop forgets a signal that comes
    between two. The server would go on for ever.
    """

    def listen_to_signals(self) -> None:
        """Handle both signals in a way that does not depend on whether the loop runs; called in the loop."""
        end = partial(asyncio.get_running_loop().call_soon_threadsafe, partial(self.stop, terminate=False))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: end())

    def stop(self, terminate: bool = True, unregister: bool = False) -> None:
        """End the server; while it starts, as soon as it serves."""
        if terminate:
            super().stop(terminate, unregister)
            return
        if self.state.is_running and not getattr(self.ctx, "ended", False):
            self.ctx.ended = True
            super().stop(terminate, unregister)
        self.ctx.asked = True

    def set_serving(self, serving: bool) -> None:
        """Note that the server serves, or no longer does. The loop does not run at this moment."""
        super().set_serving(serving)
        if serving and getattr(self.ctx, "asked", False):
            self.loop.call_soon(partial(self.stop, terminate=False))


def _no_handlers(app: Sanic[Any, Any], run_multiple: bool, register_sys_signals: bool, loop: Any) -> None:
    """In place of Sanic's function, which ignores both signals and then sets its own handlers."""
    os.environ["SANIC_WORKER_PROCESS"] = "true"


assert inspect.signature(_no_handlers).parameters.keys() == (
    inspect.signature(runners._setup_system_signals).parameters.keys()
)
runners._setup_system_signals = _no_handlers


def end_aside(manager: WorkerManager) -> None:
    """End several workers at SIGTERM or SIGINT, whatever Sanic's main process is doing then.

    Its own handler asks the process that knows the workers' states, and may interrupt such a question half-way, so
    that the answers are mixed up. A thread asks through a connection of its own. While workers are starting, Sanic
    would wait without end for those that have been asked to end.
    """

    def end() -> None:
        # `_all_workers_ack` is what the main process waits for while workers start.
        while not all(process.pid for worker in manager.workers for process in worker.processes):
            time.sleep(0.05)
        manager.shutdown()  # type: ignore[no-untyped-call]
        manager._all_workers_ack = lambda: True  # type: ignore[method-assign]
        manager.monitor_publisher.send(None)

    def handle(*_: Any) -> None:
        threading.Thread(target=end).start()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle)
