"""The recorder: what is asked each minute, that no venue delays another, and that a kill loses nothing received."""

import asyncio
import json
import os
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

from ingest.declaration.endpoint import Bars, Endpoint, FanOut, Keys, Pool, Request
from ingest.declaration.venue import Venue
from ingest.landing.rows import Row
from ingest.recorder.recorder import Pace, Recorder, record
from ingest.recorder.schedule import Schedule
from ingest.recorder.state import RecorderBusy, lock
from ingest.venues import VENUES
from ingest.venues.binance import BINANCE
from ingest.venues.hyperliquid import HYPERLIQUID
from tests.support.servers.loopback_venue import (
    FAST,
    HOST,
    Seen,
    identity,
    landed,
    numbered,
    serving,
    surely_received,
    until,
)

POOL = Pool("all", 100_000, 1)
MINUTE = 60_000


def volumes(body: Any) -> Any:
    return ((row["symbol"], row["volume"]) for row in body)


def symbol(request: Request) -> dict[str, Any]:
    return {"symbol": request.key, "limit": request.bars}


TICKERS = Endpoint("perp_tickers", HOST, "/tickers", "all")
BARS = Endpoint(
    "perp_bars",
    HOST,
    "/bars",
    "all",
    symbol,
    bars=Bars(),
    fan_out=FanOut(Keys("perp_tickers", volumes), top=2, rest_s=3600),
)
PAGED = Endpoint(
    "instruments",
    HOST,
    "/pages",
    "all",
    {"limit": 2},
    next_page=lambda body: {"cursor": body["next"]} if body["next"] else None,
)


def market(seen: Seen, n: int) -> web.Response:
    if seen.path.endswith("/tickers"):
        return web.json_response([{"symbol": name, "volume": rank} for rank, name in enumerate("abcd")])
    if seen.path.endswith("/pages"):
        return web.json_response({"next": {"": "x", "x": "y", "y": ""}[seen.query.get("cursor", "")]})
    return web.json_response([seen.query])


def answered(endpoint: str, key: str, tick_ms: int, body: Any = None) -> Row:
    return Row(tick_ms, "test", endpoint, key, "{}", 200, tick_ms, tick_ms + 1, 1, None, json.dumps(body))


async def test_one_minute_is_one_row_for_each_thing_asked(tmp_path: Path) -> None:
    """Bulk, fan-out and pages of a minute: asked at the right address, landed, and summed up in the state file."""
    venue = Venue("test", (POOL,), (TICKERS, BARS, PAGED))
    with serving(market) as server:
        await record(tmp_path / "recorder", str(tmp_path / "landing"), server.url, True, venues=(venue,))
    rows = landed(tmp_path / "landing")
    assert Counter((row["endpoint"], row["key"]) for row in rows) == Counter(
        [("perp_tickers", ""), *(("perp_bars", key) for key in "dcb"), *(("instruments", page) for page in "123")]
    )
    assert {row["error"] for row in rows} == {None}
    assert {row["tick_ms"] % MINUTE for row in rows} == {0}
    assert [seen.query.get("cursor") for seen in server.seen if "/pages" in seen.path] == [None, "x", "y"]
    state = json.loads((tmp_path / "recorder" / "state.json").read_text())
    assert state["venues"]["test"] | {"last_ok_ms": 0} == {
        "ok": 7, "failed": 0, "last_ok_ms": 0, "last_error": None, "last_error_ms": None,
    }  # fmt: skip
    assert state["last_landed_ms"] >= state["last_tick_ms"]
    assert state["pid"] == os.getpid()


async def test_failures_are_rows_too(tmp_path: Path) -> None:
    """No list of keys: the fan-out is one row that says so. A failing page ends the pages with its row."""
    venue = Venue("test", (POOL,), (TICKERS, BARS, PAGED))

    def answer(seen: Seen, n: int) -> web.Response:
        if "cursor" in seen.query or seen.path.endswith("/tickers"):
            return web.Response(status=400, text="no")
        return market(seen, n)

    with serving(answer) as server:
        await record(tmp_path / "recorder", str(tmp_path / "landing"), server.url, True, venues=(venue,))
    rows = {(row["endpoint"], row["key"]): row for row in landed(tmp_path / "landing")}
    assert {name: row["error"] for name, row in rows.items()} == {
        ("perp_tickers", ""): "HTTP 400",
        ("perp_bars", ""): "not asked: perp_tickers gave no keys yet",
        ("instruments", "1"): None,
        ("instruments", "2"): "HTTP 400",
    }
    assert rows["perp_tickers", ""]["body"] == "no"


def test_a_slow_venue_delays_nobody(tmp_path: Path) -> None:
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


def test_what_a_rate_limit_holds_back_delays_nothing_else(tmp_path: Path) -> None:
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


async def test_a_fault_in_one_venue_leaves_the_others_alone(tmp_path: Path) -> None:
    def broken(request: Request) -> dict[str, Any]:
        raise ZeroDivisionError

    faulty = Venue("faulty", (POOL,), (replace(TICKERS, params=broken),))
    with serving(market) as server:
        await record(
            tmp_path, str(tmp_path / "landing"), server.url, True, venues=(faulty, Venue("good", (POOL,), (TICKERS,)))
        )
    assert {(row["venue"], row["error"]) for row in landed(tmp_path / "landing")} == {
        ("good", None),
        ("faulty", "not asked: ZeroDivisionError()"),
    }


async def test_an_unusable_landing_is_said_and_keeps_the_rows(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
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


def test_cadence() -> None:
    """Everything at the first minute, hourly ones then at the full hour, a failed one again at the next minute."""
    hourly = replace(TICKERS, name="instruments", every_s=3600)
    schedule = Schedule(Venue("test", (POOL,), (TICKERS, hourly)), MINUTE)
    start = 10_000 * 3_600_000 + 17 * MINUTE
    asked = [
        tick
        for tick in range(17, 130)
        if "instruments" in [endpoint.name for endpoint in schedule.due(start + (tick - 17) * MINUTE)]
    ]
    assert asked == [17, 60, 120]
    schedule.done(Row(0, "test", "instruments", "", "{}", 500, 0, 1, 1, "HTTP 500", None))
    assert "instruments" in [endpoint.name for endpoint in schedule.due(start + 113 * MINUTE)]


def test_the_rest_comes_round_once_an_hour_evenly() -> None:
    """The first by volume every minute; all others once an hour, as many in each minute."""
    schedule = Schedule(Venue("test", (POOL,), (TICKERS, BARS)), MINUTE)
    keys = [f"k{n:03d}" for n in range(302)]
    ranked = [{"symbol": key, "volume": 1000 - n} for n, key in enumerate(keys)]
    schedule.catalogue.learn(answered("perp_tickers", "", 0, ranked))
    minutes = [[request.key for request in schedule.requests(BARS, tick * MINUTE)] for tick in range(1, 61)]
    assert all(asked[:2] == keys[:2] and len(asked) == 7 for asked in minutes)
    assert Counter(key for asked in minutes for key in asked[2:]) == Counter(keys[2:])


def test_a_rest_asked_every_five_minutes_comes_round_once_an_hour_too() -> None:
    ratios = replace(BARS, name="ratios", every_s=300)
    schedule = Schedule(Venue("test", (POOL,), (TICKERS, ratios)), MINUTE)
    keys = [f"k{n:03d}" for n in range(122)]
    schedule.catalogue.learn(
        answered("perp_tickers", "", 0, [{"symbol": key, "volume": 1000 - n} for n, key in enumerate(keys)])
    )
    asked = []
    for tick in range(60, 120):
        due = [endpoint.name for endpoint in schedule.due(tick * MINUTE)]
        assert ("ratios" in due) == (tick % 5 == 0)
        if "ratios" in due:
            asked.append([request.key for request in schedule.requests(ratios, tick * MINUTE)])
        # A key that never answers does not have all of them asked every minute.
        schedule.done(Row(tick * MINUTE, "test", "ratios", "k005", "{}", 400, 0, 1, 1, "HTTP 400", None))
    assert all(len(one) == 12 for one in asked)
    assert Counter(key for one in asked for key in one[2:]) == Counter(keys[2:])


def test_a_rank_can_be_a_product_of_two_bodies() -> None:
    held = Keys("held", lambda body: [(body["symbol"], body["size"])], times=Keys("perp_tickers", volumes))
    fan_out = replace(BARS, name="books", fan_out=FanOut(held, top=2))
    schedule = Schedule(Venue("test", (POOL,), (TICKERS, replace(BARS, name="held"), fan_out)), MINUTE)
    assert schedule.unknown(fan_out) == ["held", "perp_tickers"]
    prices = [{"symbol": symbol, "volume": price} for symbol, price in (("a", 1), ("b", 50), ("c", 2))]
    schedule.catalogue.learn(answered("perp_tickers", "", 0, prices))
    for symbol, size in (("a", 90), ("b", 2), ("c", 30), ("unpriced", 999)):
        schedule.catalogue.learn(answered("held", symbol, 0, {"symbol": symbol, "size": size}))
    assert [request.key for request in schedule.requests(fan_out, 0)] == ["b", "a"]


def test_bars_catch_up_after_a_start_and_after_failures() -> None:
    schedule = Schedule(Venue("test", (POOL,), (TICKERS, BARS)), MINUTE)
    schedule.catalogue.learn(answered("perp_tickers", "", 0, [{"symbol": "a", "volume": 1}]))

    def bars(tick: int) -> int:
        (request,) = schedule.requests(BARS, tick * MINUTE)
        return request.bars

    assert bars(100) == 99
    schedule.done(answered("perp_bars", "a", 100 * MINUTE))
    assert bars(101) == 3
    assert bars(111) == 13
    assert bars(1000) == 99


def test_binance_open_interest_is_asked_of_trading_perpetuals() -> None:
    schedule = Schedule(BINANCE, MINUTE)
    ticker = {"quoteVolume": "1", "count": 5}
    schedule.catalogue.learn(
        answered("perp_tickers", "", 0, [ticker | {"symbol": s} for s in ("A", "B", "C", "D", "A_260327")])
    )
    funded = [{"symbol": "A", "nextFundingTime": 1}, {"symbol": "B", "nextFundingTime": 0}]
    funded += [{"symbol": "C", "nextFundingTime": 1}, {"symbol": "A_260327", "nextFundingTime": 0}]
    schedule.catalogue.learn(answered("funding", "", 0, funded))
    info = {"symbols": [{"symbol": "A", "status": "TRADING"}, {"symbol": "C", "status": "SETTLING"}]}
    schedule.catalogue.learn(answered("instruments", "", 0, info))
    (endpoint,) = [endpoint for endpoint in BINANCE.endpoints if endpoint.name == "open_interest"]
    assert [request.key for request in schedule.requests(endpoint, 0)] == ["A"]


def test_hyperliquid_fans_out_over_dexes_and_their_coins() -> None:
    schedule = Schedule(HYPERLIQUID, MINUTE)
    endpoints = {endpoint.name: endpoint for endpoint in HYPERLIQUID.endpoints}
    schedule.catalogue.learn(answered("perp_dexes", "", 0, [None, {"name": "xyz"}]))
    assert [request.key for request in schedule.requests(endpoints["perp_tickers"], 0)] == ["", "xyz"]
    core = [{"universe": [{"name": "BTC"}, {"name": "OLD", "isDelisted": True}]}, [{"dayNtlVlm": "5"}] * 2]
    schedule.catalogue.learn(answered("perp_tickers", "", 0, core))
    dex = [{"universe": [{"name": "xyz:TSLA"}]}, [{"dayNtlVlm": "9"}]]
    schedule.catalogue.learn(answered("perp_tickers", "xyz", 0, dex))
    assert [request.key for request in schedule.requests(endpoints["perp_bars"], 0)] == ["xyz:TSLA", "BTC"]


@pytest.mark.parametrize("venue", VENUES, ids=lambda venue: venue.name)
def test_a_full_minute_fits_the_budget(venue: Venue) -> None:
    """With the whole universe (VENUES 0.3), a first minute that catches up and asks all stays inside every pool."""
    coins = {"hyperliquid": 430, "okx": 480, "lighter": 215}.get(venue.name, 850)
    sizes = {
        "open_interest": 700,
        "perp_tickers": 12,
        "spot_bars": 1500,
        "option_open_interest": 40,
        "wallet_positions": 10,
        "dex_positions": 60,
        "wallet_fills": 500,
        "index_tickers": 6,
    }
    if venue.name == "lighter":
        sizes |= {"spot_bars": 15}
    if venue.name == "bitget":
        # Its statistics are asked of the most traded alone.
        sizes |= {"long_short_accounts": 50, "taker_ratio": 50}
    used: Counter[str] = Counter()
    for endpoint in venue.endpoints:
        count, fan_out = 1, endpoint.fan_out
        if fan_out:
            count = sizes.get(endpoint.name, coins) if fan_out.of else len(fan_out.always)
            if fan_out.top is not None:
                rest = -(-(count - fan_out.top) * endpoint.every_s // fan_out.rest_s) if fan_out.rest_s else 0
                count = fan_out.top + rest
        most = endpoint.bars.most if endpoint.bars else 0
        weight = endpoint.weight(Request("", 0, most)) if callable(endpoint.weight) else endpoint.weight
        used[endpoint.pool] += count * weight
    for pool in venue.pools:
        assert used[pool.name] <= (pool.limit - pool.history) * max(1, 60 / pool.window_s)


def test_two_recorders_do_not_share_a_folder(tmp_path: Path) -> None:
    with lock(tmp_path), pytest.raises(RecorderBusy, match=f"process {os.getpid()}"):
        lock(tmp_path)
    lock(tmp_path).close()


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


def test_sigterm_lands_what_is_there_and_exits_0(tmp_path: Path) -> None:
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
        process = start(tmp_path, server.url)
        until(lambda: len({row["tick_ms"] for row in landed(tmp_path / "landing")}) >= 4)
        process.terminate()
        process.wait(30)
    ticks = sorted({row["tick_ms"] for row in landed(tmp_path / "landing")})
    assert ticks == list(range(ticks[0], ticks[-1] + 1, FAST.minute_ms))
