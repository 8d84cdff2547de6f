"""Time from a minute boundary until it is served, with the whole product running under a constant load of requests."""

import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.product import Product, fetch, get, percentile

MINUTE_MS = 60_000


def measure(home: Path, universe: str, minutes: int) -> dict[str, Any]:
    """Measure `minutes` minute boundaries of a running demo.

    For each boundary: seconds until the API serves an edition recorded after it. Meanwhile a loop requests series and
    markets, compressed, with pauses of 50 ms.
    """
    product = Product(home, universe)
    stop = threading.Event()
    requests = {"answered": 0, "failed": 0}

    def ask() -> None:
        paths = ("/api/series/price?base=BTC", "/api/series/oi?base=ETH&step=1m", "/api/markets")
        while not stop.is_set():
            for path in paths:
                try:
                    fetch(product.api + path)
                    requests["answered"] += 1
                except OSError:
                    requests["failed"] += 1
                stop.wait(0.05)

    home.mkdir()
    with product.running("demo", ready=f"{product.api}/api/markets", seconds=240):
        load = threading.Thread(target=ask)
        load.start()
        try:
            # During the first boundaries the Dagster UI is still starting.
            waits = [_wait_for_boundary(product) for _ in range(minutes + 2)][2:]
        finally:
            stop.set()
            load.join()
    seconds = {"p50_s": percentile(waits, 0.5), "p99_s": percentile(waits, 0.99)}
    return {"universe": universe, "minutes": minutes, **{name: round(s, 1) for name, s in seconds.items()}, **requests}


def _wait_for_boundary(product: Product) -> float:
    """Seconds from the next minute boundary until an edition recorded after it is served."""
    boundary = (int(time.time() * 1000) // MINUTE_MS + 1) * MINUTE_MS
    while True:
        if (get(f"{product.api}/api/status")["as_of"] or 0) >= boundary:
            return time.time() - boundary / 1000
        time.sleep(0.1)
