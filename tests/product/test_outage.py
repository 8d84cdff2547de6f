"""Faults of a venue end as gaps and nulls, never as zeros: ten minutes of the simulators, from request to response.

The simulators' clock is moved minute by minute; the recorder's own parts ask, land and are built, published and served.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from ingest.venues.binance import BINANCE
from ingest.venues.bybit import BYBIT
from ingest.venues.hyperliquid import HYPERLIQUID
from tests.support.pipeline.product_minutes import Fault, Moment, Product
from tests.support.pipeline.recorder_minutes import MINUTE
from tests.support.servers.api_server import Api
from tests.support.servers.sandbox_client import sandbox
from tests.support.start import HOUR, start_ms

START = start_ms(HOUR)  # the ten minutes lie in one hour
DOWN = range(2, 7)  # binance is down for these five minutes
WINDOWS = ("1h", "4h", "12h", "24h")
CHANGED = 8  # bybit's tickers come without their prices in this minute
MINUTES = 10
OUTAGE: Fault = {"kind": "outage", "venue": "binance"}
RENAMED: Fault = {"kind": "changed_field", "venue": "bybit", "path": "/v5/market/tickers", "field": "lastPrice",
                  "rename": "last_price"}  # fmt: skip
NO_RATIOS: Fault = {"kind": "truncated", "venue": "binance", "path": "/futures/data/"}


def moment(number: int) -> Moment:
    faults = [NO_RATIOS, *([OUTAGE] if number in DOWN else []), *([RENAMED] if number == CHANGED else [])]
    return Moment(START + number * MINUTE, tuple(faults))


async def true_volumes() -> dict[int, float]:
    """What the simulated market says of one market, minute by minute."""
    span = {"from": START - 10 * MINUTE, "to": START + MINUTES * MINUTE}
    async with sandbox(now_ms=START + MINUTES * MINUTE) as venues:
        asked = await venues.get("/_sandbox/truth", venue="binance", type="perp", symbol="BTCUSDT", **span)
    return {row["minute_ms"]: row["volume_usd"] for row in asked.json["minutes"]}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """The API over the ten minutes."""
    product = Product(tmp_path_factory.mktemp("outage"))
    product.record((BINANCE, BYBIT, HYPERLIQUID), map(moment, range(MINUTES)))
    with product.served() as api:
        yield api


def times(*numbers: int) -> list[int]:
    return [START + number * MINUTE for number in numbers]


def test_five_minutes_of_outage_are_a_gap_and_no_value(api: Api) -> None:
    """No bucket, no zero, and the gap is exact to the minute."""
    up = [number for number in range(MINUTES) if number not in DOWN]
    for metric in ("price", "oi", "funding"):
        body = api.series(metric, base="BTC", venue="binance", step="1m", start=START, range="10m")
        assert body["t"] == times(*up), metric
        assert all(value for value in body["v"]), metric
        assert body["gaps"] == [
            {"start": times(2)[0], "end": times(7)[0], "venue": "binance", "reason": "venue_unreachable"}
        ], metric


def test_the_other_venues_go_on(api: Api) -> None:
    """A coin's series has every minute, without the missing venue's part, and says what is missing."""
    body = api.series("oi", base="BTC", step="1m", start=START, range="10m")
    assert body["t"] == times(*range(MINUTES))
    assert max(body["v"][number] for number in DOWN) < 0.8 * body["v"][0]
    assert [gap["venue"] for gap in body["gaps"]] == ["binance", "bybit"]


def test_closed_bars_heal(api: Api) -> None:
    """Bars of the outage are asked again afterwards: no gap is left, and the volume is the market's true one."""
    body = api.series("volume", market="binance:perp:BTCUSDT", step="1m", start=START, end=START + 9 * MINUTE)
    assert body["t"] == times(*range(9))
    true = asyncio.run(true_volumes())
    assert body["v"] == pytest.approx([true[t] for t in body["t"]], rel=1e-9)
    assert body["gaps"] == []


def test_a_changed_body_fails_that_venue_alone_and_visibly(api: Api) -> None:
    """Without the field nothing is known of the venue's perps in that minute; the status says which body it was."""
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


@pytest.mark.requirement("states:liquidations:null", "states:movers:unavailable")
def test_liquidations_without_a_stream_are_unknown(api: Api) -> None:
    """Nobody listened: no zero is claimed, neither in the series nor in a snapshot."""
    body = api.series("liquidations", base="BTC", step="1m", start=START, range="10m")
    assert body["t"] == []
    unknown: dict[str, Any] = {window: {"long": None, "short": None, "count": None} for window in WINDOWS}
    whole, coin = api.get("/api/liquidations").json, api.get("/api/coin/BTC").json["liquidations"]
    assert [reported["totals"] for reported in (whole, coin)] == [unknown, unknown]
    assert (whole["coins"], whole["by_venue"], whole["recent"], coin["coins"]) == ([], {}, [], [])
    section = api.get("/api/market-movers").json["sections"]["liquidations"]
    assert "no liquidation feed was connected" in section["unavailable"]
    assert (section["up"], section["down"]) == ([], None)


@pytest.mark.requirement("states:long-short:null", "states:movers:unavailable")
def test_ratios_that_a_venue_does_not_publish_are_null(api: Api) -> None:
    coins = {coin["base"]: coin for coin in api.get("/api/long-short").json["coins"]}
    assert coins["BTC"]["bybit_accounts"]["symbol"] == "BTCUSDT"
    assert {coin[name] for coin in coins.values() for name in ("binance_accounts", "binance_top_pos")} == {None}
    assert api.get("/api/coin/BTC").json["long_short"]["binance_accounts"] is None
    section = api.get("/api/market-movers").json["sections"]["long_short"]
    assert section["unavailable"]
    assert (section["as_of"], section["up"], section["down"]) == (None, [], None)


@pytest.mark.requirement("states:movers:sections")
def test_each_movers_section_has_its_own_rows(api: Api) -> None:
    """With ten recorded minutes, changes over 24 hours are unavailable and current values are not."""
    sections = api.get("/api/market-movers").json["sections"]
    silent = {name for name, section in sections.items() if section["unavailable"]}
    assert silent == {"price", "oi", "long_short", "liquidations"}
    assert len(sections["funding"]["up"]) == len(sections["funding"]["down"]) == 5
