"""The past of the venues: fetched whole, within the limits, once; a kill loses nothing; by hand and from Dagster."""

import asyncio
import json
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from aiohttp import web

from ingest.backfill.backfill import AT_ONCE, Pace, backfill
from ingest.backfill.loads import Served
from ingest.backfill.wanted import Wanted
from ingest.declaration.endpoint import DAY_MS
from ingest.declaration.history import STEPS_MS
from ingest.declaration.venue import Venue
from ingest.landing.loads import committed_loads
from ingest.recorder.client import Client
from ingest.recorder.clock import now_ms
from ingest.recorder.minute import record_minute
from ingest.recorder.schedule import Schedule
from ingest.venues import VENUES
from sandbox.market.world import World
from sandbox.server import create_app, serving
from sandbox.venues.bitget import archive as bitget_archive
from tests.support.pipeline.recorder_minutes import unhurried
from tests.support.pipeline.warehouse import RESPONSES, Warehouse, seeded
from tests.support.servers import loopback_past
from tests.support.servers.loopback_venue import Seen, until
from tests.support.servers.loopback_venue import serving as loopback
from tests.support.start import clock_from, start_ms

MINUTE = 60_000
HOUR = 60 * MINUTE
ALL = tuple(venue for venue in VENUES if venue.history)


def bountiful(venue: Venue) -> Venue:
    """The venue with room for all its requests at once, those for the past too."""
    room = unhurried(venue)
    return replace(room, pools=tuple(replace(pool, history=pool.limit // 2) for pool in room.pools))


def landed(landing: Path) -> list[dict[str, Any]]:
    files = [file for load in committed_loads(str(landing)) for file in load.files]
    if not files:
        return []
    with duckdb.connect() as con:
        found = con.execute(f"select {', '.join(RESPONSES.names)} from read_parquet($files)", {"files": files})
        names = [column[0] for column in found.description or []]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


class Fetched:
    """A demo's fetch of all venues, its landed rows, and the world that it is of."""

    def __init__(self, folder: Path) -> None:
        app = create_app(rate_limits=False)
        # Up to one time: a bar that ends while this runs would be new to the second fetch.
        wanted = Wanted(sample=True, end_ms=start_ms())

        async def fetch() -> None:
            async with serving(app) as url:
                work = (folder / "home", str(folder / "landing"), url, wanted)
                self.state = await backfill(*work, venues=[bountiful(venue) for venue in ALL])
                first = landed(folder / "landing")
                self.again = await backfill(*work, venues=[bountiful(venue) for venue in ALL])
                self.first_rows, self.new_rows = first, landed(folder / "landing")[len(first) :]

        with clock_from(start_ms()):
            asyncio.run(fetch())
        self.world = app.ctx.sandbox.world
        assert isinstance(self.world, World)
        self.rows = landed(folder / "landing")


@pytest.fixture(scope="module")
def fetched(tmp_path_factory: pytest.TempPathFactory) -> Fetched:
    return Fetched(tmp_path_factory.mktemp("fetched"))


@pytest.fixture(scope="module")
def warehouse(fetched: Fetched, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """The staging views over what was fetched."""
    made = seeded(tmp_path_factory.mktemp("warehouse"))
    made.build(fetched.rows, "raw_window")
    return made


def test_every_kind_of_every_venue_is_fetched_completely(fetched: Fetched) -> None:
    assert fetched.state.failed == []
    assert {name: part.last_error for name, part in fetched.state.venues.items() if part.last_error} == {}
    assert fetched.state.state == "done"
    expected = {(venue.name, one.landed_as) for venue in ALL for one in venue.history if one.sample > 0}
    expected |= {(venue.name, one.endpoint) for venue in ALL for one in venue.archives if one.days and one.sample}
    assert {(row["venue"], row["endpoint"]) for row in fetched.rows} == expected
    assert all(row["status"] == 200 and row["error"] is None and row["body"] for row in fetched.rows)


def test_fetched_spans_are_not_requested_again(fetched: Fetched) -> None:
    assert fetched.again.state == "done"
    # Another market may have come among those with the highest volume meanwhile.
    first, new = (
        {(row["venue"], row["endpoint"], row["key"]) for row in rows} for rows in (fetched.first_rows, fetched.new_rows)
    )
    assert not first & new
    assert len(new) < len(first) / 100


def test_the_recorder_s_views_read_the_past(fetched: Fetched, warehouse: Warehouse) -> None:
    """No row of any view is rejected, and every fetched body is read by at least one."""
    read: Counter[tuple[str, str]] = Counter()
    views = [
        name for (name,) in warehouse.rows("select view_name from duckdb_views() where starts_with(view_name, 'stg_')")
    ]
    for view in views:
        venue = view.removeprefix("stg_").partition("__")[0]
        for endpoint, reject, count in warehouse.rows(f"select endpoint, reject, count(*) from {view} group by all"):
            assert reject is None, (view, endpoint, reject, count)
            read[venue, endpoint] += count
    assert {name for name, count in read.items() if count} >= {(r["venue"], r["endpoint"]) for r in fetched.rows}


@pytest.mark.parametrize("view", [
    f"stg_{venue.name}__{one.endpoint}" for venue in ALL for one in venue.history
    if one.endpoint.endswith("_bars") and one.interval == "1d" and one.sample
])  # fmt: skip
def test_bars_are_whole_days_and_hours_without_a_hole(view: str, warehouse: Warehouse) -> None:
    opened: dict[tuple[str, int], set[int]] = {}
    for symbol, opened_ms, closed_ms in warehouse.rows(f"select symbol, opened_ms, closed_ms from {view}"):
        opened.setdefault((symbol, closed_ms + 1 - opened_ms), set()).add(opened_ms)
    assert {length for _, length in opened} <= set(STEPS_MS.values())
    for (_, length), times in opened.items():
        assert sorted(times) == list(range(min(times), max(times) + length, length))
    assert max(len(times) for (_, length), times in opened.items() if length == DAY_MS) >= 198


def test_a_day_s_bar_is_the_sum_of_its_minutes(fetched: Fetched, warehouse: Warehouse) -> None:
    world = fetched.world
    row = world.universe.row["binance", "perp", "BTCUSDT"]
    query = (
        "select opened_ms, open, high, low, close, volume, turnover, taker_buy_turnover from stg_binance__perp_bars"
        f" where symbol = 'BTCUSDT' and closed_ms - opened_ms > {HOUR} order by opened_ms desc limit 3"
    )
    for opened_ms, *figures in warehouse.rows(query):
        bars = world.bars(row, opened_ms // MINUTE, 1440)
        taken = (bars.quote_volume * bars.taker_buy).sum()
        sums = (bars.volume.sum(), bars.quote_volume.sum(), taken)
        truth = [bars.open[0, 0], bars.high.max(), bars.low.min(), bars.close[0, -1], *sums]
        assert figures == pytest.approx([float(value) for value in truth], rel=1e-7)


def test_open_interest_of_the_past_is_in_the_units_of_today(fetched: Fetched, warehouse: Warehouse) -> None:
    import numpy as np

    from sandbox.market.derivatives import open_interest

    world, names = fetched.world, {
        "binance": ("BTCUSDT", "open_interest"), "bybit": ("BTCUSDT", "single_open_interest"),
        "okx": ("BTC-USDT-SWAP", "open_interest"), "gate": ("BTC_USDT", "open_contracts"),
        "kucoin": ("XBTUSDTM", "open_contracts"),
    }  # fmt: skip
    for venue, (symbol, column) in names.items():
        row = world.universe.row[venue, "perp", symbol]
        size = world.universe.listings[row].contract_size if column == "open_contracts" else 1.0
        found = warehouse.rows(
            f"select t, period_ms, {column} from stg_{venue}__open_interest_history where symbol = '{symbol}'"
        )
        assert Counter(period for _, period, _ in found) >= Counter({5 * MINUTE: 12 * 47, HOUR: 24 * 29}), venue
        minutes = np.array([t // MINUTE for t, _, _ in found])
        truth = open_interest(world.market, np.array([row]), minutes)[0]
        assert [held * size for *_, held in found] == pytest.approx(truth.tolist(), rel=1e-3), venue


def test_settlements_are_those_of_the_market(warehouse: Warehouse) -> None:
    for venue in ALL:
        if not any(one.endpoint == "settlements" and one.sample for one in venue.history):
            continue
        [(symbols, hours)] = warehouse.rows(
            f"select count(distinct symbol), list(distinct round(settled_ms % {DAY_MS} / {HOUR}, 1))"
            f" from stg_{venue.name}__settlements"
        )
        assert symbols >= 1, venue.name
        assert {hour % 1 for hour in hours} == {0.0}, venue.name


def test_recorder_and_past_together_pass_no_limit() -> None:
    """Both at once from one address, with the declared limits, until there were enough requests to show it."""
    app = create_app()
    refused = Counter[str]()

    async def count(request: Any, response: Any) -> None:
        # Bitget's archive forbids what is not there.
        if request.path.startswith(f"/{bitget_archive.HOST}/") and response.status == 403:
            return
        if response.status in (403, 418, 429) or b"too frequent" in (response.body or b"")[:200]:
            refused[request.path] += 1

    app.register_middleware(count, "response")
    venues = [venue for venue in ALL if venue.name != "fx"]

    async def both(folder: Path) -> None:
        async with serving(app) as url:
            loop = asyncio.get_running_loop()
            at_ms = start_ms()
            clients = [await Client(venue, url).__aenter__() for venue in venues]
            minutes = [
                record_minute(client, Schedule(client.venue, MINUTE), at_ms, loop.time() + 20, lambda row: None)
                for client in clients
            ]
            request = Wanted(begin_ms=at_ms - 3 * DAY_MS, within_s=15)
            places = folder / "home", str(folder / "landing")
            work = asyncio.create_task(backfill(*places, url, request, venues=venues))
            await asyncio.gather(*minutes)
            sent = (await work).total.requests
            while sent < 200:  # a busy machine sends fewer in its 15 s
                more = (await backfill(*places, url, request, venues=venues)).total.requests
                assert more, "nothing is left to fetch"
                sent += more
            for client in clients:
                await client.__aexit__(None, None, None)

    import tempfile

    with tempfile.TemporaryDirectory() as folder, clock_from(start_ms()):
        asyncio.run(both(Path(folder)))
    assert refused == {}


def start(tmp_path: Path, url: str, *keys: str) -> "subprocess.Popen[bytes]":
    folders = str(tmp_path / "home"), str(tmp_path / "landing")
    words = [sys.executable, "-m", "tests.support.servers.loopback_past", *folders, url, *keys]
    return subprocess.Popen(words, cwd=Path(__file__).parents[3])


@pytest.mark.parametrize("requests", [3, 25, 61])
def test_a_kill_loses_nothing_and_the_next_start_continues(tmp_path: Path, requests: int) -> None:
    with loopback(loopback_past.answer) as server:
        process = start(tmp_path, server.url)
        until(lambda: server.count("/bars") >= requests)
        process.kill()
        process.wait(30)
        assert start(tmp_path, server.url).wait(60) == 0
        asked = Counter((seen.query["symbol"], seen.query["from"]) for seen in server.seen if "/bars" in seen.path)
    rows = landed(tmp_path / "landing")
    there = Counter((row["key"], at) for row in rows for at in json.loads(row["body"]))
    expected = {(key, at) for key in loopback_past.KEYS for at in loopback_past.times()}
    assert set(there) == expected
    # What was under way at the kill, and no more, is asked twice.
    assert sum(count - 1 for count in asked.values()) <= 2
    assert all(row["tick_ms"] % 1000 == 0 for row in rows)
    assert json.loads((tmp_path / "home" / "state.json").read_bytes())["state"] == "done"


@pytest.mark.parametrize("killed", [False, True])
def test_what_the_disk_refuses_is_not_taken_for_fetched(tiny_disk: Path, tmp_path: Path, killed: bool) -> None:
    """The journal's disk is full, that of the progress is not: a kill loses nothing, and later rows are whole."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "journal").symlink_to(tiny_disk)
    ballast = tiny_disk / "ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    with loopback(loopback_past.answer) as server:
        process = start(tmp_path, server.url)
        state = tmp_path / "home" / "state.json"
        until(lambda: state.exists() and "cannot be written" in (json.loads(state.read_bytes())["landing_error"] or ""))
        with sqlite3.connect(tmp_path / "home" / "covered.sqlite") as covered:
            assert covered.execute("select * from covered").fetchall() == []
        assert server.count("/bars") <= AT_ONCE
        if killed:
            process.kill()
            process.wait(30)
        ballast.unlink()
        if killed:
            process = start(tmp_path, server.url)
        assert process.wait(60) == 0
    there = {(row["key"], at) for row in landed(tmp_path / "landing") for at in json.loads(row["body"])}
    assert there == {(key, at) for key in loopback_past.KEYS for at in loopback_past.times()}


def test_failures_of_a_venue_are_retried_and_then_reported(tmp_path: Path) -> None:
    with loopback(loopback_past.broken) as server:
        assert start(tmp_path, server.url, "coin03", "wrong", "down").wait(60) == 1
        counts = Counter(seen.query["symbol"] for seen in server.seen if "/bars" in seen.path)
    state = json.loads((tmp_path / "home" / "state.json").read_bytes())
    assert (state["state"], state["failed"]) == ("partly", 2)
    assert {span.split()[2] for span in state["failed_spans"]} == {"wrong", "down"}
    assert counts["wrong"] == 1, "what the venue calls wrong stays wrong"
    assert counts["down"] > 2
    assert "HTTP" in state["venues"]["past"]["last_error"]


def test_hours_without_a_row_do_not_hide_older_ones(tmp_path: Path) -> None:
    """A halt of six hours, before it thirteen hours of bars, and nothing older: ten requests say so, not all."""
    listed = loopback_past.times()[-30]
    there = [at for at in loopback_past.times()[-30:] if not listed + 13 * 3_600_000 <= at < listed + 19 * 3_600_000]
    asked = list[int]()

    def answer(seen: Seen, n: int) -> web.Response:
        asked.append(int(seen.query["from"]))
        return web.json_response([at for at in there if int(seen.query["from"]) <= at < int(seen.query["to"])])

    short = replace(loopback_past.venue(("coin",)), history=(replace(loopback_past.PAST, most=1),))
    with loopback(answer) as server:
        work = backfill(
            tmp_path / "home", str(tmp_path / "landing"), server.url,
            replace(loopback_past.WANTED, begin_ms=loopback_past.BEGIN - 40 * 3_600_000),
            venues=[short], pace=loopback_past.FAST,
        )  # fmt: skip
        assert asyncio.run(work).state == "done"
    found = [at for row in landed(tmp_path / "landing") for at in json.loads(row["body"])]
    assert sorted(found) == there
    assert len(asked) == 30 + 10


def test_a_rate_limit_window_longer_than_the_response_timeout_fails_no_request(tmp_path: Path) -> None:
    """Requests that a rate limit delays are sent window after window; none of them is reported as failed."""
    few = replace(loopback_past.VENUE.pools[0], limit=120, history=60, window_s=2.5)
    with loopback(loopback_past.answer) as server:
        work = backfill(
            tmp_path / "home", str(tmp_path / "landing"), server.url, loopback_past.WANTED,
            venues=[replace(loopback_past.VENUE, pools=(few,))],
            pace=Pace(answer_s=1.5, again_s=()),
        )  # fmt: skip
        state = asyncio.run(work)
    assert state.venues["past"].last_error is None
    assert (state.state, state.failed) == ("done", [])


def test_a_load_waits_until_one_of_the_three_before_it_is_served(tmp_path: Path) -> None:
    """The edition is asked for before each load; here the third that is asked for after a load has it."""
    landing, asked = str(tmp_path / "landing"), list[int]()

    def served() -> Served:
        asked.append(len(committed_loads(landing)))
        return Served(now_ms() if asked.count(asked[-1]) >= 3 else 0, 0, now_ms(), now_ms())

    with loopback(loopback_past.answer) as server:
        pace = Pace(minute_ms=200, land_ms=20, built_ms=100, load_bytes=1_000)
        work = backfill(
            tmp_path / "home", landing, server.url, loopback_past.WANTED,
            venues=[loopback_past.VENUE], pace=pace, served=served,
        )  # fmt: skip
        assert asyncio.run(work).state == "done"
    waited = [loads for loads in dict.fromkeys(asked) if loads]
    assert len(waited) >= 5
    assert all(max(map(asked.count, some)) >= 3 for some in zip(waited, waited[1:-1], waited[2:-1], strict=False))


def test_a_load_holds_one_minute_and_no_more_than_its_bytes(tmp_path: Path) -> None:
    with loopback(loopback_past.answer) as server:
        pace = Pace(minute_ms=1000, land_ms=100, built_ms=500, load_bytes=2_000)
        work = backfill(
            tmp_path / "home", str(tmp_path / "landing"), server.url, loopback_past.WANTED,
            venues=[loopback_past.VENUE], pace=pace,
        )  # fmt: skip
        assert asyncio.run(work).state == "done"
    for load in committed_loads(str(tmp_path / "landing")):
        with duckdb.connect() as con:
            query = "select count(distinct tick_ms), sum(length(body)) from read_parquet($files)"
            [(instants, size)] = con.execute(query, {"files": list(load.files)}).fetchall()
        assert instants == 1
        assert size <= 2_000 + 2 * loopback_past.BODY_BYTES
    assert len(committed_loads(str(tmp_path / "landing"))) > 3
