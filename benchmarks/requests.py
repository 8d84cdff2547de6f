"""The duration of requests as client and server measure it, each in a process of its own."""

import asyncio
import contextlib
import multiprocessing
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.product import free_port, some_address, wait_for


class Times(NamedTuple):
    """Milliseconds of each request measured by the client and by the server, and requests per second."""

    client: list[float]
    server: list[float]
    per_second: float


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[int]:
    """Run the API on the replica in its own process; yields its port."""
    port = free_port()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(folder / "serving", port))
    process.start()
    try:
        wait_for(f"http://127.0.0.1:{port}/api/status", 60)
        yield port
    finally:
        process.terminate()
        process.join()


def _serve(folder: Path, port: int) -> None:
    from sanic import Request

    from serve.app import create_app
    from serve.http.sanic import PreparedResponse
    from serve.http.service import Setup

    app = create_app(Setup(folder, trusted_proxies=("127.0.0.0/8",)))

    @app.on_request
    async def begin(request: Request) -> None:
        request.ctx.began = time.perf_counter()

    @app.on_response  # type: ignore[untyped-decorator]
    async def end(request: Request, response: PreparedResponse) -> None:
        if isinstance(response, PreparedResponse):
            response.lines += f"\r\ntook-ms: {(time.perf_counter() - request.ctx.began) * 1000:.3f}".encode()

    app.run(host="127.0.0.1", port=port, single_process=True, access_log=False, motd=False)


def request_all(port: int, urls: list[str], clients: int, per_second: float | None) -> Times:
    """Requests over persistent connections; without a pause, or evenly at a total rate."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_requests, (port, urls, clients, per_second))


def _requests(port: int, urls: list[str], clients: int, per_second: float | None) -> Times:
    import aiohttp

    times: list[float] = []
    server: list[float] = []

    async def run() -> None:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
            began, waiting = time.perf_counter(), iter(enumerate(urls))

            async def client() -> None:
                for number, url in waiting:
                    if per_second:
                        await asyncio.sleep(max(0.0, began + number / per_second - time.perf_counter()))
                    start = time.perf_counter()
                    async with session.get(url, headers={"X-Forwarded-For": some_address()}) as response:
                        await response.read()
                        response.raise_for_status()
                        server.append(float(response.headers["took-ms"]))
                    times.append((time.perf_counter() - start) * 1000)

            await asyncio.gather(*(client() for _ in range(clients)))

    start = time.perf_counter()
    asyncio.run(run())
    return Times(times, server, len(urls) / (time.perf_counter() - start))
