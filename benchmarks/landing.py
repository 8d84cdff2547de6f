"""What a compacted day of the landing costs: packed as it is, against rows in the order in which they came at zstd's
level 1; how much CPU both take to write, and to read as a whole, as a window of a build, as one minute
and as one answer.

`python -m benchmarks.landing FOLDER --minutes 30` records minutes from the simulators into FOLDER, unless it has some.
Bytes by endpoint are in the output of `tidemark storage`.
"""

import argparse
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from benchmarks import minutes
from benchmarks.product import table
from ingest.landing.loads import committed_loads
from orchestration.config.clock import DAY_MS, HOUR_MS, MINUTE_MS
from orchestration.config.settings import UNIVERSES
from orchestration.warehouse.packing import GROUP_ROWS, packed_file, packed_rows
from orchestration.warehouse.windows import BLOCK_MS

ROUNDS = 3
# A build from a landing takes some thirty minutes of the full universe at a time, up to the end of a block.
EVERY, ONE = "true", "venue = 'okx' and endpoint = 'funding'"
READS = {
    "all": (-DAY_MS, DAY_MS, EVERY),
    "30 minutes": (0, 29 * MINUTE_MS, EVERY),
    "one minute": (15 * MINUTE_MS, 15 * MINUTE_MS, EVERY),
    "one answer": (15 * MINUTE_MS, 15 * MINUTE_MS, ONE),
}


def as_they_came(con: duckdb.DuckDBPyConnection, files: list[str], target: Path) -> None:
    """The baseline: small row groups in the order of arrival."""
    con.execute(
        f"copy (from read_parquet($files, union_by_name = true)) to '{target}' "
        f"(format parquet, compression zstd, compression_level 1, row_group_size {GROUP_ROWS})",
        {"files": files},
    )


def packed(con: duckdb.DuckDBPyConnection, files: list[str], target: Path) -> None:
    """As compaction writes them."""
    with target.open("wb") as file, packed_file(file) as written:
        for rows in packed_rows(con, files):
            written.write_batch(rows)


def cpu_s(act: Callable[[], Any]) -> float:
    """Seconds of CPU that it takes."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    act()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _run(con: duckdb.DuckDBPyConnection, query: str) -> None:
    con.execute(query).fetchall()


def measure(folder: Path, files: list[str]) -> list[dict[str, Any]]:
    """A row of figures for the baseline, for the packed file, and their ratio."""
    figures: list[dict[str, float]] = []
    with duckdb.connect(config={"threads": 1}) as con:
        query = f"""
            select min(tick_ms) filter (where tick_ms % {BLOCK_MS} = 0), count(distinct tick_ms)
            from read_parquet($files)"""
        [(first_ms, count)] = con.execute(query, {"files": files}).fetchall()
        for write in (as_they_came, packed):
            target = folder / f"{write.__name__}.parquet"
            found = {"written, CPU s a day": cpu_s(partial(write, con, files, target)) * 1440 / count}
            found = {"GB a day": target.stat().st_size * 1440 / count / 1e9, **found}
            for name, (since_ms, until_ms, where) in READS.items():
                # As a build asks for its minutes.
                wanted = f"select unnest(range({first_ms + since_ms}, {first_ms + until_ms + 1}, {MINUTE_MS}))"
                read = f"select sum(strlen(body)) from read_parquet('{target}') where tick_ms in ({wanted}) and {where}"
                found[f"read {name}, CPU s"] = min(cpu_s(partial(_run, con, read)) for _ in range(ROUNDS))
            figures.append(found)
    before, after = figures
    named = {"as they came": before, "packed": after, "ratio": {name: after[name] / before[name] for name in after}}
    return [{"rows": name} | {key: f"{value:.3g}" for key, value in row.items()} for name, row in named.items()]


def main() -> None:
    """Record, measure, print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.landing", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--universe", choices=UNIVERSES, default="full")
    parser.add_argument("--minutes", type=int, default=60, help="minutes to record, if the folder has none")
    chosen = parser.parse_args()
    landing = chosen.folder / "landing"
    if not committed_loads(str(landing)):
        begin_ms = int(time.time() * 1000) // HOUR_MS * HOUR_MS - 2 * HOUR_MS
        minutes.record(landing, chosen.folder / "dlt", chosen.universe, begin_ms, chosen.minutes + 1)
    # The first load has the bars of the hours before it.
    files = [file for load in committed_loads(str(landing))[1:] for file in load.files]
    print(table(measure(chosen.folder, files)))


if __name__ == "__main__":
    main()
