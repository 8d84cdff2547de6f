"""One minute of one venue: each due endpoint, key and page becomes exactly one row."""

import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from aiohttp import web

from ingest.declaration.endpoint import Endpoint, Request
from ingest.declaration.venue import Venue
from ingest.recorder.recorder import record
from tests.support.servers.loopback_market import BARS, POOL, TICKERS, market
from tests.support.servers.loopback_venue import (
    HOST,
    Seen,
    landed,
    serving,
)

MINUTE = 60_000


PAGED = Endpoint(
    "instruments",
    HOST,
    "/pages",
    "all",
    {"limit": 2},
    next_page=lambda body: {"cursor": body["next"]} if body["next"] else None,
)


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
