"""How fast this machine is now: fixed pieces of work, measured beside each figure, because two machines with the same
number of cores differ by a factor of two, and one machine by more between two hours.
"""

import math
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

ADDITIONS, ROWS, BYTES = 10_000_000, 3_000_000, 32 << 20
# The machine of the first figures in README.md, whose calibration is 1.0.
REFERENCE = {"python_s": 0.43, "duckdb_s": 0.272}
AGGREGATION = f"""
select key, sum(value), quantile_cont(value, 0.5)
from (select hash(i) % 20000 as key, hash(i) % 1000 / 7 as value from range({ROWS}) r(i)) group by key order by key
"""


def calibration() -> dict[str, float]:
    """Seconds of each piece: CPU of one thread for Python and DuckDB, wall clock for what is synced to a disk. The
    `calibration` is how many times as long as on the reference machine the two take, by their geometric mean: a machine
    of 2.0 is half as fast."""
    found = {
        "python_s": _cpu(_add),
        "duckdb_s": _cpu(_aggregate),
        "disk_s": _wall(_write),
    }
    times = [found[name] / reference for name, reference in REFERENCE.items()]
    return {**found, "calibration": round(math.prod(times) ** (1 / len(times)), 2)}


def _cpu(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return round(time.process_time() - before, 3)


def _wall(work: Callable[[], object]) -> float:
    before = time.perf_counter()
    work()
    return round(time.perf_counter() - before, 3)


def _add() -> int:
    total = 0
    for number in range(ADDITIONS):
        total += number
    return total


def _aggregate() -> list[tuple[object, ...]]:
    with duckdb.connect(config={"threads": 1}) as con:
        return con.execute(AGGREGATION).fetchall()


def _write() -> None:
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "file").open("wb") as file:
        file.write(os.urandom(BYTES))
        file.flush()
        os.fsync(file.fileno())
