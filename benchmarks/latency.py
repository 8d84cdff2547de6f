"""Time from a minute boundary until it is served, with the whole product running under a constant load of requests:
where it goes, step by step and model by model, and what the processes cost meanwhile."""

import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from benchmarks.product import Product, fetch, get, percentile

MINUTE_MS = 60_000


STEPS = ("received", "landed", "run_started", "build_started", "built", "published", "pointed")
TICKS = os.sysconf("SC_CLK_TCK")


def measure(home: Path, universe: str, minutes: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Measure `minutes` minute boundaries of a running demo.

    For each boundary: seconds until the API serves an edition recorded after it. Meanwhile a loop requests series and
    markets, compressed, with pauses of 50 ms. Yields subjects with a row each: the latency, each step's seconds after
    the boundary, the seconds of the models that take longest, and the CPU of each process in a minute.
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

    waits = list[float]()
    steps, models = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list)
    home.mkdir()
    with product.running("demo", ready=f"{product.api}/api/markets", seconds=240):
        load = threading.Thread(target=ask)
        load.start()
        try:
            # During the first boundaries the Dagster UI is still starting.
            for _ in range(2):
                _wait_for_boundary(product)
            began, before = time.monotonic(), _cpu_by_process(home)
            for _ in range(minutes):
                boundary_s, wait_s = _wait_for_boundary(product)
                waits.append(wait_s)
                _note_timeline(product, boundary_s, steps, models)
            passed, after = (time.monotonic() - began) / 60, _cpu_by_process(home)
        finally:
            stop.set()
            load.join()
    seconds = {"p50_s": percentile(waits, 0.5), "p99_s": percentile(waits, 0.99)}
    row = {"universe": universe, "minutes": minutes}
    yield "latency", {**row, **{name: round(s, 1) for name, s in seconds.items()}, **requests}
    for step in (step for step in STEPS if steps[step]):
        yield "steps", {**row, "step": step, **_spread(steps[step])}
    for model in sorted(models, key=lambda name: -percentile(models[name], 0.5))[:12]:
        yield "models", {**row, "model": model, **_spread(models[model])}
    spent = {name: (cpu - before.get(name, 0.0)) / passed for name, cpu in after.items()}
    for name in sorted(spent, key=lambda name: -spent[name]):
        yield "processes", {**row, "process": name, "cpu_s_a_minute": round(spent[name], 2)}


def _spread(seconds: list[float]) -> dict[str, float]:
    return {"p50_s": round(percentile(seconds, 0.5), 2), "p99_s": round(percentile(seconds, 0.99), 2)}


def _note_timeline(
    product: Product, boundary_s: float, steps: dict[str, list[float]], models: dict[str, list[float]]
) -> None:
    """The timeline of the newest edition, which is written a moment after readers are pointed to it."""
    while True:
        at, took = dict[str, float](), dict[str, float]()
        for family in text_string_to_metric_families(fetch(f"{product.api}/metrics", "identity").decode()):
            for sample in family.samples:
                if sample.name == "tidemark_stage_timestamp_seconds":
                    at[sample.labels["stage"]] = sample.value
                elif sample.name == "tidemark_model_seconds":
                    took[sample.labels["model"]] = sample.value
        if at.get("minute", 0) >= boundary_s:
            break
        time.sleep(0.1)
    for step in at.keys() & set(STEPS):
        steps[step].append(at[step] - boundary_s)
    for model, seconds in took.items():
        models[model].append(seconds)


def _cpu_by_process(home: Path) -> dict[str, float]:
    """CPU seconds of the product's processes and of those that they started and that ended, by what they are; and of
    the whole machine."""
    found = defaultdict[str, float](float)
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdigit() and f"TIDEMARK_HOME={home}\0".encode() in (folder / "environ").read_bytes():
                words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                found[_what(words)] += sum(map(int, fields[11:15])) / TICKS
    idle, waiting = (int(field) for field in Path("/proc/stat").read_text().split("\n")[0].split()[4:6])
    total = sum(map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:9]))
    found["the whole machine"] = (total - idle - waiting) / TICKS
    return dict(found)


def _what(words: list[str]) -> str:
    """A process by its command: `record`, `serve`, `dagster-daemon`."""
    if "orchestration.cli" in words:
        return words[words.index("orchestration.cli") + 1]
    if any("multiprocessing" in word for word in words):
        return "dagster"  # A run, which counts as its parent's once it has ended.
    names = [Path(word).name for word in words[1:] if word and not word.startswith("-")]
    return next((name for name in names if name != "python"), "other")


def _wait_for_boundary(product: Product) -> tuple[float, float]:
    """The next minute boundary, epoch s, and the seconds from there until an edition recorded after it is served."""
    boundary = (int(time.time() * 1000) // MINUTE_MS + 1) * MINUTE_MS
    while True:
        if (get(f"{product.api}/api/status")["as_of"] or 0) >= boundary:
            return boundary / 1000, time.time() - boundary / 1000
        time.sleep(0.1)
