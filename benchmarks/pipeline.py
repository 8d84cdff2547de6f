"""The cost of one minute in the pipeline: build and publish, with little and with much history behind it."""

import shutil
from pathlib import Path
from typing import Any

import duckdb

from benchmarks import history
from benchmarks.product import Cost, Product


def measure(home: Path, universe: str, days: tuple[int, ...], minutes: int) -> list[dict[str, Any]]:
    """For each number of days of history: the median cost of building and of publishing one more recorded minute."""
    product = Product(home, universe)
    with product.running("sandbox", "--simulate", ready=f"{product.sandbox}/_sandbox/health"):
        product.run("record", "--once")
        product.run("build")
        results = []
        for count in days:
            with_history = Product(home.with_name(f"{home.name}-{count}d"), universe, sandbox_port=product.sandbox_port)
            shutil.copytree(home, with_history.home)
            rows = history.fill(with_history.home / "warehouse.duckdb", count)
            # Both replicas are rebuilt from nothing first: the steady state is what repeats every minute.
            for _ in range(2):
                _next_minute(with_history)
            measured = [_next_minute(with_history) for _ in range(minutes)]
            results.append(_summary(universe, count, rows, with_history, measured))
            shutil.rmtree(with_history.home)
        return results


def _next_minute(product: Product) -> tuple[Cost, Cost]:
    product.run("record", "--once")
    return product.run("build"), product.run("publish")


def _summary(
    universe: str, days: int, rows: dict[str, int], product: Product, measured: list[tuple[Cost, Cost]]
) -> dict[str, Any]:
    middle = sorted(measured, key=lambda pair: pair[0].cpu_s + pair[1].cpu_s)[len(measured) // 2]
    con = duckdb.connect(str(product.home / "warehouse.duckdb"), read_only=True)
    markets = con.sql("select count(*) from market_index").fetchall()[0][0]
    con.close()
    return {
        "universe": universe,
        "days": days,
        "markets": markets,
        "rows": sum(rows.values()),
        "build_cpu_s": round(middle[0].cpu_s, 2),
        "build_wall_s": round(middle[0].wall_s, 2),
        "publish_cpu_s": round(middle[1].cpu_s, 2),
        "publish_wall_s": round(middle[1].wall_s, 2),
        "peak_mb": round(max(cost.peak_mb for pair in measured for cost in pair)),
    }
