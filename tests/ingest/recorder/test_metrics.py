"""What the recorder counts: outcomes, times and bytes of requests, rate limits and bans, landings."""

import asyncio
from dataclasses import replace
from pathlib import Path

from aiohttp import web

from ingest.declaration.venue import Venue
from ingest.landing.outbox import Landed
from ingest.landing.rows import Row
from ingest.recorder.metrics import FILE, Metrics
from ingest.recorder.recorder import record
from tests.support.servers.loopback_market import POOL, TICKERS
from tests.support.servers.loopback_venue import Seen, serving
from tests.support.servers.scrape import samples

ROW = Row(0, "v", "tickers", "", "{}", 200, 1_000, 1_400, 2, None, "[1,2]")
HERE = (("endpoint", "tickers"), ("venue", "v"))


def test_a_request_counts_once_with_its_outcome_and_its_time(tmp_path: Path) -> None:
    metrics = Metrics(tmp_path)
    failed = ROW._replace(status=500, error="HTTP 500", body=None)
    metrics.note(ROW)
    metrics.note(failed)
    metrics.note(failed._replace(status=None, received_ms=None, attempts=0, error="not asked: banned"))
    metrics.landed(Landed(3, 500))
    metrics.landed(Landed(0, 0, "the bucket is gone"))
    metrics.write({}, 60_000)
    found = samples((tmp_path / FILE).read_text())
    outcomes = {labels[1][1]: value for (name, labels), value in found.items() if name == "tidemark_requests_total"}
    assert outcomes == {"answered": 1, "failed": 1, "not_asked": 1}
    assert found["tidemark_request_attempts_total", HERE] == 4
    assert found["tidemark_request_seconds_count", HERE] == 2
    assert found["tidemark_request_seconds_sum", HERE] == 0.8
    assert found["tidemark_response_bytes_total", HERE] == 5
    assert (found["tidemark_landed_rows_total", ()], found["tidemark_landing_failing", ()]) == (3, 1)
    assert found["tidemark_recorded_minute_timestamp_seconds", ()] == 60


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    Metrics(tmp_path / "file" / "metrics").write({}, 0)
    Metrics(None).write({}, 0)


async def test_a_recorded_minute_leaves_its_file(tmp_path: Path) -> None:
    async def answer(seen: Seen, n: int) -> web.Response:
        return web.json_response({"code": 1}, status=429, headers={"Retry-After": "900"})

    # A window that outlasts the landing, however slow the machine is.
    venue = Venue("v", (replace(POOL, window_s=600),), (TICKERS,))
    with serving(answer) as server:
        options = {"once": True, "venues": (venue,), "metrics": tmp_path / "metrics"}
        await record(tmp_path / "recorder", str(tmp_path / "landing"), server.url, **options)  # type: ignore[arg-type]
    await asyncio.sleep(0)
    found = samples((tmp_path / "metrics" / FILE).read_text())
    pool = (("pool", POOL.name), ("venue", "v"))
    assert found["tidemark_budget_limit", pool] == POOL.limit - POOL.history
    assert found["tidemark_budget_left", pool] < found["tidemark_budget_limit", pool]
    assert 800 < found["tidemark_ban_seconds", (("venue", "v"),)] <= 900
    asked = (("endpoint", TICKERS.name), ("outcome", "failed"), ("venue", "v"))
    assert found["tidemark_requests_total", asked] == 1
