"""The gain of encoded response headers: requests per CPU second of the same response, sent in three ways.

`python -m benchmarks.headers`: a dict that Sanic encodes for each response, pairs that were encoded before, and the
lines of `serve.http.sanic.PreparedResponse`; each as a ratio to the dict in the same round.
"""

import http.client
import multiprocessing
from collections.abc import Callable, Iterator
from statistics import median

from sanic.response import HTTPResponse

from benchmarks.product import free_port, table, wait_for
from benchmarks.serving import cpu_seconds
from serve.http.cache import encode_headers
from serve.http.sanic import PreparedResponse

ROUNDS, REQUESTS = 9, 500
BODY = b"[%b]" % b",".join([b"1700000000000"] * 350)
HEADERS = {
    "content-type": "application/json",
    "etag": '"5b8b8e8b0e0c4f5d9a7c1d2e"',
    "cache-control": "public, max-age=15, stale-while-revalidate=30",
    "vary": "Accept-Encoding, X-API-Key",
    "access-control-allow-origin": "*",
    "access-control-expose-headers": "ETag, Link, Retry-After, RateLimit, RateLimit-Policy",
    "x-ratelimit-limit": "30",
    "x-ratelimit-remaining": "29",
    "x-ratelimit-reset": "44",
    "ratelimit-policy": '"series";q=30;w=60',
    "ratelimit": '"series";r=29;t=44',
    "content-length": str(len(BODY)),
}
LINES = encode_headers(HEADERS)
PAIRS = tuple((name.encode(), value.encode()) for name, value in HEADERS.items())


class PairsResponse(HTTPResponse):
    """A response with headers that were encoded before, one by one."""

    @property
    def processed_headers(self) -> Iterator[tuple[bytes, bytes]]:
        """The connection header, which Sanic decides, then the pairs."""
        yield b"connection", self.headers["connection"].encode()
        yield from PAIRS


WAYS: dict[str, Callable[[], HTTPResponse]] = {
    "dict": lambda: HTTPResponse(BODY, 200, HEADERS),
    "pairs": lambda: PairsResponse(BODY, 200),
    "lines": lambda: PreparedResponse(200, BODY, LINES),
}


def _serve(port: int, way: str) -> None:
    from sanic import Request

    from serve.app import bare_app

    app, respond = bare_app("headers"), WAYS[way]

    @app.get("/")
    async def index(request: Request) -> HTTPResponse:
        return respond()

    app.run("127.0.0.1", port, single_process=True, access_log=False, motd=False)


def _throughput(port: int, pid: int) -> float:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    before = cpu_seconds(pid)
    for _ in range(REQUESTS):
        connection.request("GET", "/")
        connection.getresponse().read()
    connection.close()
    return REQUESTS / (cpu_seconds(pid) - before)


def main() -> None:
    """Measure all ways in turns and print a table."""
    context = multiprocessing.get_context("spawn")
    servers = {way: (port := free_port(), context.Process(target=_serve, args=(port, way))) for way in WAYS}
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    for _, process in servers.values():
        process.start()
    try:
        for port, _ in servers.values():
            wait_for(f"http://127.0.0.1:{port}/", 30)
        for _ in range(ROUNDS):
            for way, (port, process) in servers.items():
                found[way].append(_throughput(port, process.pid or 0))
    finally:
        for _, process in servers.values():
            process.terminate()
            process.join()
    print(
        table(
            [
                {
                    "headers as": way,
                    "per_cpu_s": round(median(rates)),
                    "ratio": round(median(own / plain for own, plain in zip(rates, found["dict"], strict=True)), 2),
                }
                for way, rates in found.items()
            ]
        )
    )


if __name__ == "__main__":
    main()
