"""The recorder: the requests of each minute, venues that do not delay each other, and kills that lose no received
row."""

import asyncio
import json
import signal
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from ingest.declaration.endpoint import FanOut, Keys, Pool
from ingest.declaration.venue import Venue
from ingest.recorder.recorder import Pace, Recorder, record
from tests.support.servers.loopback_market import BARS, POOL, TICKERS, market, volumes
from tests.support.servers.loopback_venue import (
    Seen,
    identity,
    landed,
    numbered,
    serving,
    surely_received,
    until,
)

MINUTE = 60_000


def test_a_slow_venue_delays_no_other(tmp_path: Path) -> None:
    """While one venue does not answer at all, the other's rows are already committed; its own rows follow."""
    release = threading.Event()

    async def answer(seen: Seen, n: int) -> web.Response:
        if "slow.test" in seen.path:
            await asyncio.to_thread(release.wait, 60)
        return web.json_response([])

    slow = Venue("slow", (POOL,), (replace(TICKERS, host="slow.test", timeout_s=60),))
    quick = Venue("quick", (POOL,), (TICKERS,))
    pace = Pace(land_after_ms=500, least_ms=60_000)

    def run(url: str) -> None:
        asyncio.run(Recorder(tmp_path, str(tmp_path / "landing"), url, (slow, quick), pace).run(True, asyncio.Event()))

    with serving(answer) as server:
        thread = threading.Thread(target=run, args=(server.url,))
        thread.start()
        until(lambda: [row["venue"] for row in landed(tmp_path / "landing")] == ["quick"])
        assert server.count("slow.test/tickers") == 1
        release.set()
        thread.join(30)
    rows = landed(tmp_path / "landing")
    assert [(row["venue"], row["error"]) for row in rows] == [("quick", None), ("slow", None)]
    assert rows[0]["tick_ms"] == rows[1]["tick_ms"]


def test_a_request_that_waits_for_its_rate_limit_delays_no_other(tmp_path: Path) -> None:
    """The minute is landed once rate limits alone hold back the rest; that follows, under the same minute."""
    release = threading.Event()
    keys = replace(BARS, fan_out=FanOut(Keys("perp_tickers", volumes), top=4), weight=2)
    venue = Venue("test", (Pool("all", 5, 4.0),), (TICKERS, keys))

    async def answer(seen: Seen, n: int) -> web.Response:
        if seen.query.get("symbol") == "c":
            await asyncio.to_thread(release.wait, 60)
        return market(seen, n)

    def run(url: str) -> None:
        pace = Pace(land_after_ms=60_000, least_ms=60_000)
        asyncio.run(Recorder(tmp_path, str(tmp_path / "landing"), url, (venue,), pace).run(True, asyncio.Event()))

    with serving(answer) as server:
        thread = threading.Thread(target=run, args=(server.url,))
        thread.start()
        until(lambda: server.count("/bars") == 2)
        assert not landed(tmp_path / "landing")  # the second one is not held by a limit: it is waited for
        release.set()
        until(lambda: len(landed(tmp_path / "landing")) > 0)
        first = len(landed(tmp_path / "landing"))
        thread.join(30)
    rows = landed(tmp_path / "landing")
    assert (first, len(rows)) == (3, 5)
    assert len({row["tick_ms"] for row in rows}) == 1
    assert all(row["error"] is None for row in rows)


async def test_an_unusable_landing_is_reported_and_rows_are_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The minute is recorded all the same; with a landing that works the next start lands it."""
    (tmp_path / "file").touch()
    venue = Venue("test", (POOL,), (TICKERS,))
    with serving(market) as server:
        home = tmp_path / "recorder"
        fault = await record(home, str(tmp_path / "file" / "landing"), server.url, True, venues=(venue,))
        assert str(tmp_path / "file" / "landing") in (fault or "")
        assert json.loads((home / "state.json").read_text())["landing_error"] == fault
        assert sum(line.levelname == "ERROR" for line in caplog.records) == 1
        (tmp_path / "file").unlink()
        assert await record(home, str(tmp_path / "file" / "landing"), server.url, True, venues=(venue,)) is None
    assert len({identity(row) for row in landed(tmp_path / "file" / "landing")}) == 2


# A minute that a busy machine does not sleep through.
UNHURRIED_MS = 4000


def start(tmp_path: Path, url: str, **options: Any) -> subprocess.Popen[bytes]:
    args = [
        sys.executable,
        "-m",
        "tests.support.servers.loopback_venue",
        tmp_path / "recorder",
        tmp_path / "landing",
        url,
    ]
    return subprocess.Popen([*map(str, args), json.dumps(options)], cwd=Path(__file__).parents[3])


def test_sigterm_lands_the_received_rows_and_exits_0(tmp_path: Path) -> None:
    with serving(numbered) as server:
        process = start(tmp_path, server.url)
        until(lambda: server.count("/numbers") > 60)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        kept = {json.loads(row["body"])["n"] for row in landed(tmp_path / "landing") if row["status"] == 200}
        assert kept >= surely_received(server)
    assert not list((tmp_path / "recorder" / "journal").iterdir())


@pytest.mark.parametrize("requests", [10, 49, 52, 130])
def test_kill_at_any_time_loses_nothing_received(tmp_path: Path, requests: int) -> None:
    """Killed while recording or landing; after a restart every answer that was received is committed, once."""
    with serving(numbered) as server:
        process = start(tmp_path, server.url)
        until(lambda: server.count("/numbers") >= requests)
        process.kill()
        process.wait(30)
        received = surely_received(server)
        assert start(tmp_path, server.url, once=True).wait(60) == 0
    rows = {identity(row): row for row in landed(tmp_path / "landing")}
    numbers = Counter(json.loads(row["body"])["n"] for row in rows.values() if row["status"] == 200)
    assert set(numbers) >= received
    assert set(numbers.values()) == {1}
    assert not list((tmp_path / "recorder" / "journal").iterdir())


def test_minutes_follow_each_other_without_a_hole(tmp_path: Path) -> None:
    with serving(numbered) as server:
        process = start(tmp_path, server.url, minute_ms=UNHURRIED_MS)
        until(lambda: len({row["tick_ms"] for row in landed(tmp_path / "landing")}) >= 3)
        process.terminate()
        process.wait(30)
    minutes = sorted({row["tick_ms"] for row in landed(tmp_path / "landing")})
    assert minutes == list(range(minutes[0], minutes[-1] + 1, UNHURRIED_MS))
