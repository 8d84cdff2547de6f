"""The same series from the API, from bare DuckDB, from ClickHouse and from SQLite: one table.

`python -m benchmarks.engines FOLDER` on a FOLDER that benchmarks.fullsize made. ClickHouse is `chdb` (the `bench`
extra), left out where it is not installed. Every engine holds the same columns of the same rows: ClickHouse ordered by
(base, type, t), SQLite as a table clustered by that key, DuckDB as the publisher clusters it.
"""

import argparse
import contextlib
import http.client
import importlib
import importlib.util
import json
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from benchmarks.fullsize import AS_OF_MS
from benchmarks.product import percentile, some_address, table
from benchmarks.requests import Times, request_all, serving
from benchmarks.scans import scanned
from serve.replica.edition import DUCKDB_CONFIG

CLIENTS = 16
METRICS = {"price": "price", "oi": "oi_usd", "funding": "funding_8h", "volume": "volume_usd"}
STEPS = {"1m": 1, "5m": 5, "1h": 60}
COLUMNS = "t, base, type, " + ", ".join(METRICS.values())
# Every engine reads its tables once and answers as many questions before it is measured: few wait for the disk then.
WARM = (
    "select sum(t / 1000000), sum(length(base)), sum(length(type)), "
    + ", ".join(f"sum({column})" for column in METRICS.values())
    + " from {table}"
)


class Question(NamedTuple):
    """One series: a metric of a coin at a step, over 1,440 buckets that end at as_of, or fewer."""

    metric: str
    base: str
    step: str
    points: int

    @property
    def start(self) -> int:
        return AS_OF_MS - self.points * STEPS[self.step] * 60_000

    @property
    def url(self) -> str:
        bounds = f"start={self.start}&end={AS_OF_MS}&step={self.step}"
        return f"/api/series/{self.metric}?base={self.base}&{bounds}"

    @property
    def sql(self) -> str:
        return (
            f"select t, {METRICS[self.metric]} from series_base_{self.step} where base = '{self.base}' "
            f"and type = 'perp' and t >= {self.start} and t < {AS_OF_MS} order by t"
        )


def questions(bases: list[str], count: int, seed: int) -> list[Question]:
    """All different, so that no response comes from a cache."""
    chance = random.Random(seed)
    metrics, steps = sorted(METRICS), sorted(STEPS)
    return [
        Question(chance.choice(metrics), chance.choice(bases), chance.choice(steps), chance.randint(700, 1440))
        for _ in range(count)
    ]


Ask = Callable[[Question], int]


def timed(ask: Ask, asked: list[Question], clients: int) -> Times:
    """Requests of several clients without a pause."""

    def one(question: Question) -> float:
        start = time.perf_counter()
        if not ask(question):
            raise RuntimeError(f"nothing found for {question}")
        return (time.perf_counter() - start) * 1000

    start = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        times = list(pool.map(one, asked))
    return Times(times, [], len(asked) / (time.perf_counter() - start))


def in_turns(port: int, ask: Ask, asked: list[Question]) -> tuple[Times, Times]:
    """Each question to the API and to a bare engine, in turns: an engine that is asked without a pause finds its caches
    and the other core awake, which one behind a server does not."""
    api, bare = Times([], [], 0.0), Times([], [], 0.0)
    connection = http.client.HTTPConnection("127.0.0.1", port)

    def request(question: Question) -> None:
        headers = {"X-Forwarded-For": some_address(), "Accept-Encoding": "gzip"}
        connection.request("GET", question.url, headers=headers)
        response = connection.getresponse()
        response.read()
        if response.status != 200:
            raise RuntimeError(f"{question.url}: HTTP {response.status}")
        api.server.append(float(response.headers["took-ms"]))

    # The second one finds the pages cached: each is first equally often.
    turns: list[tuple[Callable[[Question], object], list[float]]] = [(request, api.client), (ask, bare.client)]
    for question in asked:
        for one, times in turns:
            start = time.perf_counter()
            one(question)
            times.append((time.perf_counter() - start) * 1000)
        turns.reverse()
    connection.close()
    return api, bare


@contextlib.contextmanager
def duckdb_engine(path: Path, folder: Path) -> Iterator[Ask]:
    """Bare queries on the replica, by coin number as in the API; results as NumPy arrays, one cursor per thread."""
    with duckdb.connect(str(path), read_only=True, config=DUCKDB_CONFIG) as con:
        local = threading.local()
        keys = dict(con.execute("from base_keys").fetchall())

        def ask(question: Question) -> int:
            cursor = getattr(local, "cursor", None) or con.cursor()
            local.cursor = cursor
            sql = question.sql.replace(f"base = '{question.base}'", f"base_key = {keys[question.base]}")
            return len(cursor.execute(sql).fetchnumpy()["t"])

        yield ask


@contextlib.contextmanager
def sqlite_engine(path: Path, folder: Path) -> Iterator[Ask]:
    """The same rows in tables without a rowid, clustered by their primary key; one connection per thread."""
    file = folder / "engines.sqlite"
    with sqlite3.connect(file) as db:
        db.execute("pragma journal_mode = off")
        db.execute("pragma synchronous = off")
        for step in STEPS:
            if db.execute("select 1 from sqlite_master where name = ?", [f"series_base_{step}"]).fetchone():
                continue
            keys = "base text, type text, t integer, price real, oi_usd real, funding_8h real, volume_usd real"
            db.execute("begin")
            db.execute(f"create table series_base_{step} ({keys}, primary key (base, type, t)) without rowid")
            with duckdb.connect(str(path), read_only=True, config={"memory_limit": "4GB"}) as con:
                columns = "base, type, t, price, oi_usd, funding_8h, volume_usd"
                # In key order, which appends, and one coin at a time, which sorts within memory.
                for (base,) in con.execute(f"select distinct base from series_base_{step} order by base").fetchall():
                    rows = con.execute(
                        f"select {columns} from series_base_{step} where base = ? order by type, t", [base]
                    )
                    db.executemany(f"insert into series_base_{step} values (?, ?, ?, ?, ?, ?, ?)", rows.fetchall())
            db.commit()
    with sqlite3.connect(file) as db:
        for step in STEPS:
            db.execute(WARM.format(table=f"series_base_{step}")).fetchall()
    local = threading.local()

    def ask(question: Question) -> int:
        db = getattr(local, "db", None) or sqlite3.connect(f"file:{file}?mode=ro", uri=True)
        local.db = db
        return len(db.execute(question.sql).fetchall())

    yield ask


@contextlib.contextmanager
def clickhouse_engine(path: Path, folder: Path) -> Iterator[Ask]:
    """ClickHouse in this process; results as Arrow. It has one connection, which clients use in turns."""
    # Imported by name, because it has no types.
    store: Any = importlib.import_module("chdb.session").Session(str(folder / "chdb"))
    store.query("create database if not exists bench")
    for step in STEPS:
        table = f"bench.series_base_{step}"
        if "1" in str(store.query(f"exists table {table}")):
            continue
        parquet = folder / "engines.parquet"
        with duckdb.connect(str(path), read_only=True, config={"memory_limit": "4GB"}) as con:
            con.execute(f"copy (select {COLUMNS} from series_base_{step}) to '{parquet}' (format parquet)")
        values = ", ".join(f"{name} Nullable(Float64)" for name in METRICS.values())
        store.query(
            f"create table {table} (t Int64, base LowCardinality(String), type LowCardinality(String), {values}) "
            "engine MergeTree order by (base, type, t)"
        )
        store.query(f"insert into {table} select {COLUMNS} from file('{parquet}', Parquet)")
        store.query(f"optimize table {table} final")
        parquet.unlink()
    for step in STEPS:
        store.query(WARM.format(table=f"bench.series_base_{step}"))
    lock = threading.Lock()

    def ask(question: Question) -> int:
        with lock:
            return len(store.query(question.sql.replace("from series", "from bench.series"), "Arrow").bytes())

    yield ask
    store.close()


ENGINES = {"DuckDB, bare": duckdb_engine, "ClickHouse (chdb), bare": clickhouse_engine, "SQLite, bare": sqlite_engine}


def measure(folder: Path, count: int) -> list[dict[str, Any]]:
    """One row per engine and number of clients."""
    path = folder / "serving" / "replica_a.duckdb"
    with duckdb.connect(str(path), read_only=True) as con:
        bases = [row[0] for row in con.execute("select distinct base from market_index order by 1").fetchall()]
        for step in STEPS:
            con.execute(WARM.format(table=f"series_base_{step}").replace("sum(length", "sum(base_key), sum(length", 1))
    rows: list[dict[str, Any]] = []

    def add(name: str, clients: int, found: Times) -> float:
        row: dict[str, Any] = {"engine": name, "clients": clients}
        for seen, times in (("", found.client), ("server_", found.server)):
            for share in (50, 99):
                row[f"{seen}p{share}_ms"] = round(percentile(times, share / 100), 2) if times else None
        rows.append(row | {"per_s": round(found.per_second, 1) or None})
        print(rows[-1], flush=True)
        return found.per_second

    with serving(folder) as port, duckdb_engine(path, folder) as ask:

        def api(seed: int, clients: int, per_second: float | None = None) -> Times:
            return request_all(port, [q.url for q in questions(bases, count, seed)], clients, per_second)

        api(0, CLIENTS)  # a first run that is not measured
        add("API", 1, api(1, 1))
        full = add("API", CLIENTS, api(2, CLIENTS))
        for part, share in ((2, "half"), (4, "a quarter")):
            add(f"API, at {share} of that rate", CLIENTS, api(1 + part, CLIENTS, full / part))
        for name, found in zip(
            ("API", "DuckDB, bare"), in_turns(port, ask, questions(bases, count, CLIENTS + 1)), strict=True
        ):
            add(f"{name}, in turns", 1, found)
    for name, engine in ENGINES.items():
        if "chdb" in name and importlib.util.find_spec("chdb") is None:
            print("chdb is not installed: pip install '.[bench]'")
            continue
        with engine(path, folder) as ask:
            timed(ask, questions(bases, count, 0), CLIENTS)
            for clients in (1, CLIENTS):
                add(name, clients, timed(ask, questions(bases, count, clients), clients))
    return rows


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--json", type=Path, help="also write the figures into this file")
    chosen = parser.parse_args()
    print(table(scanned(chosen.folder)))
    rows = measure(chosen.folder, chosen.requests)
    print(table(rows))
    if chosen.json:
        chosen.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
