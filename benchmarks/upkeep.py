"""The cost of the daily upkeep and of hourly tests and docs at full size, and how long a minute's build waits for them.

`python -m benchmarks.upkeep FOLDER --universe full` records some minutes from the simulators and builds them; repeats
their loads to a day of the landing, and their rows to a day of each fine table that is to be forgotten and one that is
kept. Then it does the upkeep while another thread keeps asking for the writer lock, as a minute's build does. Parts of
a day's upkeep that grow with nothing of this (Dagster's history, logs) are left out; so are the statistics, which are
hourly builds (see `benchmarks.statistics`).
"""

import argparse
import json
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb

from benchmarks import minutes
from benchmarks.product import Product, table
from ingest.landing.dlt_files import LOADS, commit_file
from ingest.landing.loads import committed_loads
from orchestration.code_location.models import TESTS_AT_ONCE, in_turns
from orchestration.config.clock import DAY_MS, HOUR_MS
from orchestration.config.settings import UNIVERSES, Settings
from orchestration.warehouse.compaction import compact_landing
from orchestration.warehouse.dbt_runner.docs import make_docs
from orchestration.warehouse.dbt_runner.process import DbtError, prepare_manifest, run_dbt
from orchestration.warehouse.served import Served, read_served
from orchestration.warehouse.trim import MARGIN_DAYS, trim_warehouse
from orchestration.warehouse.writer import POLL_S, writer_lock

LOADS_A_DAY = 1440
BEFORE_DAY = "9999-12-31"
REST_S = 0.5


class Waits(threading.Thread):
    """Acquires the writer lock repeatedly; `longest_s` is the longest wait."""

    def __init__(self, home: Path) -> None:
        super().__init__(daemon=True)
        self._home = home
        self._end = threading.Event()
        self.longest_s = 0.0

    def run(self) -> None:
        while not self._end.wait(REST_S):
            began = time.monotonic()
            with writer_lock(self._home, "benchmark", wait_s=3600, report=lambda _: None):
                self.longest_s = max(self.longest_s, time.monotonic() - began)

    def end(self) -> None:
        self._end.set()
        self.join()


def repeat_loads(settings: Settings) -> int:
    """Multiply the landed loads to a day by hard links, each committed and registered in the warehouse as built."""
    loads = committed_loads(settings.landing)
    commits = Path(settings.landing) / LOADS
    made: list[tuple[str, str]] = []
    # The first load has the bars of the hours before it.
    steady = loads[1:]
    for n in range(len(loads), LOADS_A_DAY):
        load = steady[n % len(steady)]
        # A load id is its time of creation: each round is a little later, so that the day keeps its order.
        new_id = f"{float(load.load_id) + 0.000001 * (n // len(steady)):.7f}"
        (source,) = load.files
        target = source.replace(load.load_id, new_id)
        os.link(source, target)
        commit = json.loads((commits / commit_file(load.load_id)).read_text())
        (commits / commit_file(new_id)).write_text(json.dumps(commit | {"load_id": new_id}))
        made.append((new_id, target))
    with duckdb.connect(settings.warehouse) as con:
        con.execute("create temp table made (load_id varchar, file varchar)")
        con.executemany("insert into made values (?, ?)", made)
        con.execute(
            "insert into pipeline.loads by name select made.load_id, made.file, l.min_tick_ms, l.max_tick_ms, l.rows, "
            "l.build_id from made, (select * from pipeline.loads where file is not null limit 1) as l"
        )
    return len(made)


def repeat_rows(settings: Settings, served: Served) -> tuple[int, int]:
    """Repeat the newest rows of each fine table over the two days before it, of which a trim deletes the older one.

    Returns the number of rows and the time at which the trim is made.
    """
    rows = 0
    keep_days = {tier.step: tier.keep_days for tier in served.tiers if tier.keep_days}
    with duckdb.connect(settings.warehouse) as con:
        newest = con.execute("select max(minute_ms) from int_market_minutes").fetchall()[0][0]
        today = newest - newest % DAY_MS
        fine = [("int_market_minutes", "minute_ms", 60_000), ("int_market_bars", "minute_ms", 60_000)]
        fine += [(table.name, "t", table.tier.step_ms) for table in served.tables if table.tier.keep_days]
        for name, column, step_ms in fine:
            if not con.execute("select 1 from duckdb_tables() where table_name = ?", [name]).fetchall():
                continue
            # Tiers with a longer retention get older rows.
            back_ms = (keep_days.get(name.rpartition("_")[2], keep_days["1m"]) - keep_days["1m"]) * DAY_MS
            end = newest - back_ms
            con.execute(f"create temp table newest as from {name} where {column} = (select max({column}) from {name})")
            con.execute(f"create temp table there as select distinct {column} as at_ms from {name}")
            for hour_ms in range(today - DAY_MS - back_ms, end, HOUR_MS):
                counted = con.execute(
                    f"insert into {name} select newest.* replace (at_ms as {column}) "
                    f"from newest, range({hour_ms}, {min(hour_ms + HOUR_MS, end)}, {step_ms}) as times(at_ms) "
                    "where at_ms not in (from there) order by at_ms"
                ).fetchall()
                rows += counted[0][0]
            con.execute("drop table newest; drop table there")
        trim_ms = today + (keep_days["1m"] + MARGIN_DAYS) * DAY_MS
        # A trim counts recorded days.
        first = trim_ms - (max(keep_days.values()) + MARGIN_DAYS) * DAY_MS
        con.execute(
            "insert into pipeline.loads select '0.' || t, null, null, t, 0, 0 "
            f"from range({first}, {trim_ms + 1}, {DAY_MS}) days(t)"
        )
    return rows, trim_ms


def measure(product: Product, count: int) -> list[dict[str, Any]]:
    """Generate the day, then run each part of the upkeep; one row of figures for each."""
    settings = Settings.from_env(product.env())
    begin = int(time.time() * 1000) // DAY_MS * DAY_MS - HOUR_MS
    minutes.record(Path(settings.landing), product.home / "dlt", product.universe, begin, count)
    product.run("build")
    loads = count + repeat_loads(settings)
    rows, trim_ms = repeat_rows(settings, read_served(prepare_manifest(settings)))
    bytes_landed = sum(Path(file).stat().st_size for load in committed_loads(settings.landing) for file in load.files)
    print(f"{loads} loads of {bytes_landed / 1e9:.1f} GB, {rows:,} rows in fine tables", flush=True)
    manifest = json.loads(prepare_manifest(settings).read_text())

    def test() -> int:
        turns = list(in_turns(node["name"] for node in manifest["nodes"].values() if node["resource_type"] == "test"))
        for names in turns:
            # Some fail as expected: the repeated minutes are in no coarser tier.
            with suppress(DbtError), writer_lock(product.home, "tests", wait_s=600) as lock:
                run_dbt(settings, ["test", "--select", *names], lock=lock)
            time.sleep(2 * POLL_S)
        return len(turns)

    parts: dict[str, Callable[[], Any]] = {
        "compaction of the landing, days": lambda: compact_landing(settings, BEFORE_DAY),
        "trim of the warehouse, rows": lambda: trim_warehouse(settings, trim_ms),
        f"tests, turns of {TESTS_AT_ONCE}": test,
        "docs, files": lambda: len(list(make_docs(settings).iterdir())),
    }
    figures = []
    with product.dbt_ready():
        for name, part in parts.items():
            waits = Waits(product.home)
            waits.start()
            began = time.monotonic()
            done = part()
            took = time.monotonic() - began
            waits.end()
            figures.append(
                {"part": name, "done": done, "s": round(took, 1), "longest_wait_s": round(waits.longest_s, 2)}
            )
            print(figures[-1], flush=True)
    return figures


def main() -> None:
    """Make it, measure it, print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.upkeep", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--universe", choices=UNIVERSES, default="full")
    parser.add_argument("--minutes", type=int, default=16, help="minutes to record, of which the day is made")
    chosen = parser.parse_args()
    print(table(measure(Product(chosen.folder, chosen.universe), chosen.minutes)))


if __name__ == "__main__":
    main()
