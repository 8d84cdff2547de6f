"""Uncached premium histories by range, measured in the process.

`python -m benchmarks.premiums FOLDER` on a FOLDER that benchmarks.fullsize made, which has ten years of hours of 24
coins on two exchanges and of two on a third.
"""

import argparse
import time
from pathlib import Path
from typing import Any

from benchmarks.product import percentile, table

RANGES = ("30d", "90d", "366d", "2y", "10y")
PATHS = {"/api/kimchi-premium/history": ("BTC", "B7", "B19"), "/api/coinbase-premium/history": ("BTC", "ETH")}
ROUNDS = 10


def measure(folder: Path) -> list[dict[str, Any]]:
    """Milliseconds of wall clock and of CPU from the parsed request to the body, and of an edition's first request."""
    from serve.contract.endpoint import REGISTRY
    from serve.contract.parameters import read_values
    from serve.endpoints import all_endpoints
    from serve.replica.edition import Reader, open_edition

    all_endpoints()
    rows = []
    for path, bases in PATHS.items():
        endpoint = REGISTRY[path]
        assert endpoint.resolve is not None
        for length in RANGES:
            edition = open_edition(folder / "serving" / "replica_a.duckdb")
            walls, cpus = [], []
            for base in bases * ROUNDS:
                query = endpoint.resolve(
                    read_values(endpoint.params, {}, f"base={base}&range={length}"), edition, False
                )
                wall, cpu = time.perf_counter(), time.process_time()
                endpoint.answer(query, Reader(edition, edition.connection.cursor()))
                walls.append((time.perf_counter() - wall) * 1000)
                cpus.append((time.process_time() - cpu) * 1000)
            edition.connection.close()
            figures = {"first_ms": walls[0], "p50_ms": percentile(walls, 0.5), "p99_ms": percentile(walls, 0.99)}
            figures["cpu_p50_ms"] = percentile(cpus, 0.5)
            rows.append({"path": path, "range": length} | {name: round(ms, 1) for name, ms in figures.items()})
    return rows


def main() -> None:
    """Measure the folder of the arguments."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.premiums", description=__doc__)
    parser.add_argument("folder", type=Path)
    print(table(measure(parser.parse_args().folder)))


if __name__ == "__main__":
    main()
