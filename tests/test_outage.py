"""Faults of a venue end as gaps and nulls, never as zeros: ten minutes of the stand-ins, from request to response.

The stand-ins' clock is moved minute by minute; the recorder's own parts ask, land and are built, published and served.
"""

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ingest.landing import land
from ingest.venues.binance import BINANCE
from ingest.venues.bybit import BYBIT
from ingest.venues.hyperliquid import HYPERLIQUID
from orchestration.publish import publish
from orchestration.settings import Settings
from orchestration.transform import build
from tests.api_server import Api, free_port, running
from tests.recorder_minutes import MINUTE, recorder
from tests.sandbox_client import SandboxClient

START = (int(time.time()) // 3600 - 1) * 3_600_000  # ten minutes in one hour, an hour or two ago
DOWN = range(2, 7)  # binance is down for these five minutes
CHANGED = 8  # bybit's tickers come without their prices in this minute
MINUTES = 10


async def record(landing: Path, state: Path) -> dict[str, Any]:
    """Ten minutes with two faults in the landing, one load each; what truly happened meanwhile."""
    async with recorder((BINANCE, BYBIT, HYPERLIQUID)) as (venues, minute):
        for number in range(MINUTES):
            if fault := _fault(number):
                await venues.post("/_sandbox/faults", fault)
            rows = await minute(START + number * MINUTE, 2 if number in DOWN else 20)
            await venues.delete("/_sandbox/faults")
            await asyncio.to_thread(land, rows, str(landing), state)
        return {venue: await _truth(venues, venue) for venue in ("binance", "bybit")}


def _fault(number: int) -> dict[str, Any] | None:
    if number in DOWN:
        return {"kind": "outage", "venue": "binance"}
    if number == CHANGED:
        field = {"kind": "changed_field", "venue": "bybit", "path": "/v5/market/tickers"}
        return field | {"field": "lastPrice", "rename": "last_price"}
    return None


async def _truth(venues: SandboxClient, venue: str) -> Any:
    span = {"from": START - 10 * MINUTE, "to": START + MINUTES * MINUTE}
    return (await venues.get("/_sandbox/truth", venue=venue, type="perp", symbol="BTCUSDT", **span)).json


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Api, dict[str, Any]]]:
    """The API over the ten minutes, and the truth behind them."""
    home = tmp_path_factory.mktemp("outage")
    settings = Settings.from_env({**os.environ, "TIDEMARK_HOME": str(home)})
    truth = asyncio.run(record(Path(settings.landing), home / "dlt"))
    assert build(settings) is not None
    assert publish(settings) is not None
    with running(settings.serving, free_port()) as api:
        yield api, truth


def times(*numbers: int) -> list[int]:
    return [START + number * MINUTE for number in numbers]


def test_five_minutes_of_outage_are_a_gap_and_no_value(served: tuple[Api, dict[str, Any]]) -> None:
    """No bucket, no zero, and the gap is exact to the minute."""
    api, _ = served
    up = [number for number in range(MINUTES) if number not in DOWN]
    for metric in ("price", "oi", "funding"):
        body = api.series(metric, base="BTC", venue="binance", step="1m", start=START, range="10m")
        assert body["t"] == times(*up), metric
        assert all(value for value in body["v"]), metric
        assert body["gaps"] == [
            {"start": times(2)[0], "end": times(7)[0], "venue": "binance", "reason": "venue_unreachable"}
        ], metric


def test_the_other_venues_go_on(served: tuple[Api, dict[str, Any]]) -> None:
    """A coin's series has every minute, without the missing venue's part, and says what is missing."""
    api, _ = served
    body = api.series("oi", base="BTC", step="1m", start=START, range="10m")
    assert body["t"] == times(*range(MINUTES))
    assert max(body["v"][number] for number in DOWN) < 0.8 * body["v"][0]
    assert [gap["venue"] for gap in body["gaps"]] == ["binance", "bybit"]


def test_closed_bars_heal(served: tuple[Api, dict[str, Any]]) -> None:
    """Bars of the outage are asked again afterwards: no gap is left, and the volume is the market's true one."""
    api, truth = served
    body = api.series("volume", market="binance:perp:BTCUSDT", step="1m", start=START, end=START + 9 * MINUTE)
    assert body["t"] == times(*range(9))
    true = {row["minute_ms"]: row["volume_usd"] for row in truth["binance"]["minutes"]}
    assert body["v"] == pytest.approx([true[t] for t in body["t"]], rel=1e-9)
    assert body["gaps"] == []


def test_a_changed_body_fails_that_venue_alone_and_visibly(served: tuple[Api, dict[str, Any]]) -> None:
    """Without the field nothing is known of the venue's perps in that minute; the status says which body it was."""
    api, _ = served
    bybit = api.series("price", base="BTC", venue="bybit", step="1m", start=START, range="10m")
    assert bybit["t"] == times(*[number for number in range(MINUTES) if number != CHANGED])
    gap = {"start": times(8)[0], "end": times(9)[0], "venue": "bybit", "reason": "venue_error"}
    assert bybit["gaps"] == [gap]
    other = api.series("price", base="BTC", venue="hyperliquid", step="1m", start=START, range="10m")
    assert other["t"] == times(*range(MINUTES))
    assert other["gaps"] == []
    venues = {row["venue"]: row for row in api.get("/api/status").json["venues"]}
    assert venues["bybit"]["last_error_ms"] == times(8)[0]
    # Both kinds of tickers have the field.
    assert venues["bybit"]["last_error"] in ("perp_tickers: body changed", "spot_tickers: body changed")


def test_liquidations_without_a_stream_are_unknown(served: tuple[Api, dict[str, Any]]) -> None:
    """Nobody listened: no zero is claimed."""
    api, _ = served
    body = api.series("liquidations", base="BTC", step="1m", start=START, range="10m")
    assert body["t"] == []
