"""The cost of one minute in the pipeline, with little and with much history: build and publish, what is kept of it, and
how soon a start with that history answers and builds."""

import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import duckdb

from benchmarks import history, minutes, serving, tools
from benchmarks.product import Cost, Product, children_cpu_s, get, wait_until
from orchestration.publish.edition import read_current

BUILD_ONE = (
    "from orchestration.config.settings import Settings; from orchestration.warehouse.transform import build; "
    "build(Settings.from_env(), max_minutes=1, stop_after_s=0, publish=True)"
)
HOUR_MS = 3_600_000
# The first builds and publishes after a restart of history rebuild both replicas, unlike ordinary minutes.
WARM_UP = 2


def measure(folder: Path, universe: str, days: tuple[int, ...], count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """For each number of days of history: the cost of `count` more minutes, one by one (the median one, and the mean
    and the most of its CPU), then request path and tools over it.

    Yields ("pipeline", figures), ("serving", figures), ("tools", figures) and ("start", figures).
    """
    origin = Product(folder / "origin", universe)
    # From a quarter past an hour: no measured minute clusters an hour or has hourly requests.
    start_ms = (int(time.time() * 1000) // HOUR_MS - 2) * HOUR_MS + 15 * minutes.MINUTE_MS
    minutes.record(origin.home / "landing", origin.home / "dlt", universe, start_ms, 1 + WARM_UP + count)
    _build_one(origin)
    for number in days:
        product = Product(folder / f"{number}d", universe)
        shutil.copytree(origin.home, product.home)
        rows = history.fill(product.home / "warehouse.duckdb", number)
        with product.dbt_ready() as dbt:
            for _ in range(WARM_UP):
                _build_one(product, dbt)
                product.run("publish")
            measured = [_build_and_publish(product, dbt) for _ in range(count)]
        yield "pipeline", _summary(universe, number, rows, product, measured)
        yield "serving", {"universe": universe, "days": number, **serving.measure(product)}
        with product.running("serve", ready=f"{product.api}/api/status"):
            yield "tools", {"universe": universe, "days": number, **tools.measure(product.api)}
        yield "start", {"universe": universe, "days": number, **_start(product)}
        shutil.rmtree(product.home)
    shutil.rmtree(origin.home)


def _build_one(product: Product, dbt: int | None = None) -> Cost:
    """Build one minute; the cost includes the forked processes of the dbt server."""
    before = children_cpu_s(dbt) if dbt else 0.0
    cost = product.run_command(sys.executable, "-c", BUILD_ONE)
    if dbt is None:
        return cost
    # The forked process ends shortly after its caller has the result.
    wait_until(lambda: children_cpu_s(dbt) > before, 30)
    return replace(cost, cpu_s=cost.cpu_s + children_cpu_s(dbt) - before)


def _build_and_publish(product: Product, dbt: int) -> tuple[Cost, Cost]:
    """Build one minute, which is published when its window is closed; the cost of all of it, and of the publish, as its
    metrics have that."""
    known = read_current(product.home / "serving")
    minute = _build_one(product, dbt)
    if read_current(product.home / "serving") == known:
        raise RuntimeError("the minute was not published when its window was closed")
    lines = (product.home / "metrics" / "pipeline.prom").read_text().splitlines()
    values = {name: float(value) for name, _, value in (line.partition(" ") for line in lines if line[:1] != "#")}
    took = Cost(values["tidemark_publish_seconds"], values["tidemark_publish_cpu_seconds"], minute.peak_mb)
    return minute, took


def _start(product: Product) -> dict[str, Any]:
    """Seconds from the start of the whole product until the first answer with data, which is of the edition that it
    had, and until the first edition of a minute after the start; those which passed since the last one are fetched and
    built meanwhile."""
    began = time.monotonic()
    with product.running("demo", ready=f"{product.api}/api/markets", seconds=600):
        answered, known = time.monotonic(), get(f"{product.api}/api/status")["as_of"] or 0
        wait_until(lambda: (get(f"{product.api}/api/status")["as_of"] or 0) > known, 900)
        edition = time.monotonic()
    return {"first_answer_s": round(answered - began, 1), "first_edition_s": round(edition - began, 1)}


def _megabytes(path: Path) -> float:
    files = path.rglob("*") if path.is_dir() else [path]
    return round(sum(file.stat().st_size for file in files if file.is_file()) / 1e6, 1)


def _summary(
    universe: str, days: int, rows: dict[str, int], product: Product, measured: list[tuple[Cost, Cost]]
) -> dict[str, Any]:
    minute, publish = sorted(measured, key=lambda pair: pair[0].cpu_s)[len(measured) // 2]
    con = duckdb.connect(str(product.home / "warehouse.duckdb"), read_only=True)
    markets = con.execute("select count(*) from market_index").fetchall()[0][0]
    con.close()
    return {
        "universe": universe,
        "days": days,
        "markets": markets,
        "series_rows": sum(rows.values()),
        "build_cpu_s": round(minute.cpu_s - publish.cpu_s, 2),
        "build_wall_s": round(minute.wall_s - publish.wall_s, 2),
        "publish_cpu_s": round(publish.cpu_s, 2),
        "publish_wall_s": round(publish.wall_s, 2),
        "cpu_s": round(minute.cpu_s, 2),
        "mean_cpu_s": round(fmean(minute.cpu_s for minute, _ in measured), 2),
        "most_cpu_s": round(max(minute.cpu_s for minute, _ in measured), 2),
        "peak_mb": round(max(minute.peak_mb for minute, _ in measured)),
        "landed_mb": round(_megabytes(product.home / "landing") / (1 + len(measured) + WARM_UP), 2),
        "warehouse_mb": _megabytes(product.home / "warehouse.duckdb"),
        "replicas_mb": _megabytes(product.home / "serving"),
    }
