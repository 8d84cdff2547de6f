"""The request path: cached relative to a static body on the same Sanic, uncached relative to the bare DuckDB query."""

import http.client
import itertools
import json
import multiprocessing
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import duckdb

from benchmarks.product import Product, free_port, get, percentile, some_address, wait_for

ROUNDS, REQUESTS = 7, 500
QUERIES = 400
DAYS = {"1m": 1, "5m": 5, "1h": 30}
METRICS = {
    "price": "price",
    "oi": "oi_usd",
    "funding": "funding_8h",
    "volume": "volume_usd",
}


def measure(product: Product) -> dict[str, Any]:
    """Serve the product's current replica and measure both paths; client and server share the machine."""
    with product.running("serve", ready=f"{product.api}/api/status") as pid:
        body, cached, static = _cached(product, pid)
        served, bare = _uncached(product)
    return {
        "body_kb": round(len(body) / 1024, 1),
        "replica_mb": round(sum(file.stat().st_size for file in (product.home / "serving").iterdir()) / 2e6),
        "cached_per_cpu_s": round(median(cached)),
        "static_per_cpu_s": round(median(static)),
        "cached_ratio": round(median(ours / theirs for ours, theirs in zip(cached, static, strict=True)), 2),
        "served_p50_ms": round(percentile(served, 0.5), 2),
        "served_p99_ms": round(percentile(served, 0.99), 2),
        "bare_p50_ms": round(percentile(bare, 0.5), 2),
        "bare_p99_ms": round(percentile(bare, 0.99), 2),
        "ratio_p50": round(percentile(served, 0.5) / percentile(bare, 0.5), 2),
    }


def _cached(product: Product, pid: int) -> tuple[bytes, list[float], list[float]]:
    """A body, and the throughput of serving it from the cache and as a static body, in alternating rounds."""
    path = "/api/series/price?base=BTC&range=1d"
    body = _body(product.api_port, path)
    port = free_port()
    static = multiprocessing.get_context("spawn").Process(target=_serve_static, args=(port, body))
    static.start()
    try:
        wait_for(f"http://127.0.0.1:{port}/", 30)
        rounds = [
            (_throughput(product.api_port, path, pid), _throughput(port, "/", static.pid or 0)) for _ in range(ROUNDS)
        ]
    finally:
        static.terminate()
        static.join()
    return body, [ours for ours, _ in rounds], [theirs for _, theirs in rounds]


def _serve_static(port: int, body: bytes) -> None:
    """The same Sanic with a static body, without keys, rate limits and cache."""
    from sanic import Request, raw
    from sanic.response import HTTPResponse

    from serve.app import bare_app

    app = bare_app("static")

    @app.get("/")
    async def index(request: Request) -> HTTPResponse:
        return raw(body, content_type="application/json")

    app.run("127.0.0.1", port, single_process=True, access_log=False, motd=False)


def _body(port: int, path: str) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path, headers={"X-Forwarded-For": some_address()})
    body = connection.getresponse().read()
    connection.close()
    return body


def cpu_seconds(pid: int) -> float:
    """CPU seconds of a process, by its CPU clock: /proc has them only in units of 10 ms."""
    return time.clock_gettime((~pid << 3) | 2)  # what clock_getcpuclockid(3) returns on Linux


def _throughput(port: int, path: str, pid: int) -> float:
    """Requests per CPU second of the server, independent of the client's cost."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for _ in range(100):
        connection.request("GET", path, headers={"X-Forwarded-For": some_address()})
        connection.getresponse().read()
    before = cpu_seconds(pid)
    for _ in range(REQUESTS):
        connection.request("GET", path, headers={"X-Forwarded-For": some_address()})
        connection.getresponse().read()
    connection.close()
    return REQUESTS / (cpu_seconds(pid) - before)


def _questions(product: Product) -> list[tuple[str, str, str]]:
    """(metric, step, base) of different queries, so that none is answered from the cache."""
    coins = get(f"{product.api}/api/markets")["coins"]
    bases = [coin["base"] for coin in coins if coin["oi_usd"]]
    questions = itertools.product(METRICS, DAYS, bases)
    return list(itertools.islice(questions, 0, None, max(1, len(bases) * 12 // QUERIES)))[:QUERIES]


def _uncached(product: Product) -> tuple[list[float], list[float]]:
    """Milliseconds of different series requests over one connection, and of the same bare queries, in turns."""
    current = json.loads((product.home / "serving" / "current.json").read_text())
    con = duckdb.connect(str(product.home / "serving" / current["replica"]), read_only=True, config={"threads": 2})
    connection = http.client.HTTPConnection("127.0.0.1", product.api_port, timeout=30)

    def served(metric: str, step: str, base: str) -> None:
        path = f"/api/series/{metric}?base={base}&step={step}&range={DAYS[step]}d"
        connection.request("GET", path, headers={"X-Forwarded-For": some_address()})
        response = connection.getresponse()
        response.read()
        if response.status != 200:
            raise RuntimeError(f"{metric} {base} {step}: HTTP {response.status}")

    def bare(metric: str, step: str, base: str) -> None:
        con.execute(
            f"select t, {METRICS[metric]} from series_base_{step} "
            "where base = ? and type = 'perp' and t >= ? and t < ? order by t",
            [base, current["as_of_ms"] - DAYS[step] * 86_400_000, current["as_of_ms"]],
        ).fetchnumpy()

    # The second one finds the pages cached: each is first equally often.
    turns: list[tuple[Callable[[str, str, str], None], list[float]]] = [(served, []), (bare, [])]
    for question in _questions(product):
        for ask, times in turns:
            start = time.perf_counter()
            ask(*question)
            times.append((time.perf_counter() - start) * 1000)
        turns.reverse()
    connection.close()
    con.close()
    found = dict(turns)
    return found[served], found[bare]
