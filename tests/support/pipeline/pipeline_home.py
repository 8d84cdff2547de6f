"""A home with a real landing of one small venue, and the pipeline's commands as processes that a test may kill."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from ingest.landing.landing import land
from ingest.landing.rows import SCHEMA, Row, to_batch
from orchestration.config.settings import Settings
from orchestration.warehouse.writer import connection, literals
from tests.support.pipeline.warehouse import STAMPS

MINUTE = 60_000
T0 = 1_772_582_400_000  # 2026-03-04 00:00 UTC
COINS = ("BTC", "ETH", "SOL")
# Tables whose content must be the same whatever happened on the way to it.
TABLES = (
    "int_market_minutes", "int_market_bars", "series_market_1m", "series_base_1m", "series_market_1h", "markets",
    "gaps",
)  # fmt: skip


def settings_for(home: Path) -> Settings:
    return Settings.from_env({"TIDEMARK_HOME": str(home), "TIDEMARK_BUILD_THREADS": "1"})


def minute_rows(tick_ms: int, late_bars: int = 2) -> list[Row]:
    """Binance's responses of one minute for three perps: numbers that follow from the minute and the coin."""
    n = (tick_ms - T0) // MINUTE
    names = [(f"{coin}USDT", 100.0 * (rank + 1) + n) for rank, coin in enumerate(COINS)]
    tickers = [
        {"symbol": name, "lastPrice": str(price), "quoteVolume": str(price * 10), "closeTime": tick_ms}
        for name, price in names
    ]
    funding = [
        {"symbol": name, "markPrice": str(price), "indexPrice": str(price), "lastFundingRate": "0.0001",
         "nextFundingTime": tick_ms + 3_600_000}
        for name, price in names
    ]  # fmt: skip
    rows = [_row(tick_ms, "perp_tickers", "", tickers), _row(tick_ms, "funding", "", funding)]
    for name, price in names:
        rows.append(_row(tick_ms, "open_interest", name, {"symbol": name, "openInterest": str(price), "time": tick_ms}))
        opened = [tick_ms - back * MINUTE for back in range(late_bars, 0, -1)]
        bars = [
            [at, "1", "2", "1", "2", "10", at + 59_999, str(1000 + (at - T0) // MINUTE), 5, "4", "400", "0"]
            for at in opened
        ]
        rows.append(_row(tick_ms, "perp_bars", name, bars))
    return rows


def past_rows(tick_ms: int, hours: int = 3, until_ms: int = T0) -> list[Row]:
    """Binance's bars of so many hours, fetched in a minute."""
    return [
        _row(tick_ms, "history_perp_bars", f"{coin}USDT", [
            [at, "1", "2", "1", "2", "10", at + 59_999, "1000", 5, "4", "400", "0"]
            for at in range(until_ms - hours * 60 * MINUTE, until_ms, MINUTE)
        ])
        for coin in COINS
    ]  # fmt: skip


def _row(tick_ms: int, endpoint: str, key: str, body: Any) -> Row:
    return Row(
        tick_ms, "binance", endpoint, key, json.dumps({"symbol": key} if key else {}), 200,
        tick_ms + 1000, tick_ms + 1500, 1, None, json.dumps(body),
    )  # fmt: skip


def land_minutes(settings: Settings, minutes: Iterable[int], **options: int) -> None:
    """Land one load per minute, through dlt."""
    for minute in minutes:
        land_rows(settings, minute_rows(minute, **options))


def land_rows(settings: Settings, rows: list[Row]) -> None:
    """Land these rows as one load."""
    land(pa.Table.from_batches([to_batch(rows)], SCHEMA), settings.landing, settings.recorder / "dlt")


def note_days(warehouse: str, day_ms: int, count: int = 40) -> None:
    """The watermark of a minute in this day, and in so many days before it."""
    with connection(warehouse) as con:
        con.execute(
            "insert into pipeline.loads select '0.' || t, null, t, t, 0, 0 "
            f"from range({day_ms - count * 86_400_000}, {day_ms + 1}, 86400000) r(t)"
        )


def tables(database: str, names: Iterable[str] = TABLES) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of some tables, in an order of their own, without the key that a replica's rows carry beside, and
    without when it was known: that differs between ways to the same rows."""
    with connection(database, read_only=True) as con:
        of = f"select columns(name -> name not in ({literals('base_key', *STAMPS)})) from {{}} order by all"
        return {name: con.execute(of.format(name)).fetchall() for name in names}


def start(settings: Settings, *words: str) -> "subprocess.Popen[bytes]":
    """A `tidemark` command as a process of its own."""
    command = [sys.executable, "-m", "orchestration.cli", *words]
    return subprocess.Popen(command, env=command_env(settings), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def command_env(settings: Settings) -> dict[str, str]:
    return {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", **settings.environ()}


def run(settings: Settings, *words: str) -> str:
    """Run a `tidemark` command, which must succeed."""
    process = start(settings, *words)
    output = process.communicate(timeout=600)[0].decode()  # a rebuild leaves the CPU to the other tests
    assert process.returncode == 0, output
    return output


@contextmanager
def polling_reader(serving: Path) -> Iterator[list[tuple[int, int]]]:
    """Read the served replica as a server does while the block runs: yields the (edition, rows) that it saw.

    Any failed read fails the test at the end.
    """
    seen: list[tuple[int, int]] = []
    failures: list[BaseException] = []
    stop = threading.Event()

    def read() -> None:
        name, con = "", duckdb.connect()
        while not stop.is_set():
            try:
                current = json.loads((serving / "current.json").read_text())
                if current["replica"] != name:
                    con.close()
                    name, con = current["replica"], duckdb.connect(str(serving / current["replica"]), read_only=True)
                query = "select any_value(edition_id), (select count(*) from series_market_1m) from edition"
                row = con.execute(query).fetchone()
                if row and (not seen or seen[-1] != row):
                    seen.append(row)
            except BaseException as error:
                failures.append(error)
                break
            time.sleep(0.01)
        con.close()

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()
    assert not failures, failures
