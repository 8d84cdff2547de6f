"""What the snapshots say after real faults: stand-ins that are down or change a contract, from request to response."""

import asyncio
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ingest.landing import land
from ingest.rows import Row
from ingest.venues.binance import BINANCE
from ingest.venues.bybit import BYBIT
from orchestration.publish import publish
from orchestration.settings import Settings
from orchestration.transform import build
from tests.api_server import Api, free_port, running
from tests.recorder_minutes import MINUTE, recorder

HOUR = 60 * MINUTE
NOW = (int(time.time()) // 3600 - 1) * HOUR
TIMES = (NOW - 24 * HOUR, NOW - 2 * HOUR, NOW - HOUR, NOW)
Bodies = dict[int, dict[str, float]]


async def record(landing: Path, state: Path) -> Bodies:
    """Four moments of two venues; bybit is down an hour ago. Binance's open interest in each, as it said it."""
    told: Bodies = {}
    async with recorder((BINANCE, BYBIT)) as (venues, minute):
        for tick in TIMES:
            if tick == NOW - HOUR:
                await venues.post("/_sandbox/faults", {"kind": "outage", "venue": "bybit"})
            rows = await minute(tick, 20)
            await venues.delete("/_sandbox/faults")
            told[tick] = {row.key: _held(row) for row in rows if _is_held(row)}
            await asyncio.to_thread(land, rows, str(landing), state)
    return told


def _is_held(row: Row) -> bool:
    return (row.venue, row.endpoint, row.status) == ("binance", "open_interest", 200)


def _held(row: Row) -> float:
    return float(json.loads(row.body or "")["openInterest"])


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Api, Bodies]]:
    home = tmp_path_factory.mktemp("faults")
    settings = Settings.from_env({**os.environ, "TIDEMARK_HOME": str(home)})
    told = asyncio.run(record(Path(settings.landing), home / "dlt"))
    assert build(settings) is not None
    assert publish(settings) is not None
    with running(settings.serving, free_port()) as api:
        yield api, told


@pytest.mark.requirement("oi-acceleration:unavailable", "oi-acceleration:values")
def test_a_venue_that_was_down_an_hour_ago_cannot_be_compared(served: tuple[Api, Bodies]) -> None:
    api, told = served
    got = api.get("/api/open-interest-acceleration?min_oi=0").json
    assert len(got["rows"]) + len(got["unavailable"]) == 50
    assert {row["venue"] for row in got["rows"]} == {"binance"}
    assert {row["venue"] for row in got["unavailable"] if row["reason"] == "missing_anchor"} == {"bybit"}
    assert got["targets_ms"] == [NOW - 2 * HOUR, NOW - HOUR, NOW]
    for row in got["rows"]:
        before, middle, now = (told[tick][row["symbol"]] for tick in TIMES[1:])
        assert row["acceleration_pp"] == pytest.approx(100 * (now / middle - middle / before), abs=1e-9)
        assert row["anchors_ms"] == got["targets_ms"]


@pytest.mark.requirement("markets:changes")
def test_a_change_from_an_hour_without_answers_is_unknown(served: tuple[Api, Bodies]) -> None:
    api, _ = served
    perps = [entry for coin in api.get("/api/markets").json["coins"] for entry in coin["perps"]]
    assert {entry["venue"] for entry in perps if entry["px_1h"] is None} >= {"bybit"}
    assert not [entry for entry in perps if entry["venue"] == "bybit" and entry["px_1h"] is not None]
    assert any(entry["px_24h"] is not None for entry in perps if entry["venue"] == "bybit")
    assert any(entry["px_1h"] is not None for entry in perps if entry["venue"] == "binance")


@pytest.mark.requirement("long-short:values", "movers:values")
def test_ratios_of_the_stand_ins_reach_the_snapshot_and_the_movers(served: tuple[Api, Bodies]) -> None:
    api, _ = served
    coins = {coin["base"]: coin for coin in api.get("/api/long-short").json["coins"]}
    for name in ("binance_accounts", "binance_top_pos", "bybit_accounts"):
        ratio = coins["BTC"][name]
        assert 0 < ratio["long"] < 1
        assert NOW - 15 * MINUTE <= ratio["ts"] <= NOW
        # Every answer holds eight hours of buckets: what happened during the outage was told after it.
        assert ratio["chg_1h"] is not None
        assert ratio["chg_4h"] is not None
    shown: dict[str, Any] = api.get("/api/market-movers").json["sections"]["long_short"]
    assert shown["unavailable"] is None
    assert shown["up"][0]["value"] == max(
        coin["binance_accounts"]["chg_24h"] for coin in coins.values()
        if coin["binance_accounts"] and coin["binance_accounts"]["chg_24h"] is not None
    )  # fmt: skip
