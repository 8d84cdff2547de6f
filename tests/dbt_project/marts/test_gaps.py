"""Gaps from faults of the simulators: each reason, exact to the minute, for several venues and kinds.

The recorder's own parts request twelve minutes from the simulators of six venues. The venues fail in every way that the
simulators support, and the recorder itself pauses; the result is read from the built table `gaps`.
"""

import asyncio
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from ingest.landing.rows import Row
from ingest.recorder import streams
from ingest.recorder.clock import now_ms
from ingest.recorder.schedule import Schedule
from ingest.recorder.streams import StreamRecorder
from ingest.venues.binance import BINANCE
from ingest.venues.bitget import BITGET
from ingest.venues.bybit import BYBIT
from ingest.venues.gate import GATE
from ingest.venues.kucoin import KUCOIN
from ingest.venues.mexc import MEXC
from ingest.venues.okx import OKX
from tests.support.pipeline.recorder_minutes import MINUTE, only, recorder
from tests.support.pipeline.warehouse import Warehouse, seeded
from tests.support.start import HOUR, start_ms

START = start_ms(HOUR)
KINDS = {"perp_tickers", "spot_tickers", "funding", "funding_intervals", "open_interest", "marks", "index_tickers"}
MINUTES = 12
STOPPED = (7, 8)  # the recorder stands still
# Minute → what fails then.
FAULTS: dict[int, list[dict[str, Any]]] = {
    1: [{"kind": "outage", "venue": "okx"}],
    2: [
        {"kind": "outage", "venue": "okx"},
        {"kind": "429", "venue": "gate", "path": "/api/v4/spot/tickers", "retry_after": 0},
        {"kind": "truncated", "venue": "mexc", "path": "/api/v1/contract/ticker"},
        {"kind": "slow", "venue": "bitget", "path": "/api/v3/market/tickers", "delay_s": 30},
    ],
    3: [
        {"kind": "500", "venue": "gate", "path": "/api/v4/futures/btc/tickers"},
        {"kind": "truncated", "venue": "mexc", "path": "/api/v1/contract/ticker", "cut": True},
        {"kind": "changed_field", "venue": "kucoin", "field": "lastTradePrice", "rename": "last"},
    ],
    4: [{"kind": "outage", "venue": "binance", "path": f"/{api}/v1/openInterest"} for api in ("fapi", "dapi")],
    11: [{"kind": "418", "venue": "binance", "path": "/api/v3/ticker/24hr", "retry_after": 0}],
}
# Start, end (minutes), venue, kind, reason.
EXPECTED = {
    (7, 9, None, None, "recorder_down"),
    (2, 3, "gate", "spot_tickers", "venue_error"),
    (3, 4, "gate", "perp_tickers", "partial"),
    (2, 3, "mexc", "perp_tickers", "venue_error"),
    (3, 4, "mexc", "perp_tickers", "venue_unreachable"),  # the connection broke amid the body
    (3, 4, "kucoin", "perp_tickers", "venue_error"),
    (2, 3, "bitget", "perp_tickers", "venue_unreachable"),
    (2, 3, "bitget", "spot_tickers", "venue_unreachable"),
    (4, 5, "binance", "open_interest", "venue_unreachable"),
    (11, 12, "binance", "spot_tickers", "venue_error"),
}


# What is asked every minute, and the bars of one venue.
ASKED = (only(OKX, KINDS | {"perp_bars"}), *(only(venue, KINDS) for venue in (BINANCE, GATE, MEXC, KUCOIN, BITGET)))


def built(warehouse: Warehouse) -> set[tuple[Any, ...]]:
    """The gaps of a warehouse, in minutes since the start."""
    rows = warehouse.rows("select start_ms, end_ms, venue, endpoint, reason from gaps")
    return {((start - START) // MINUTE, (end - START) // MINUTE, *rest) for start, end, *rest in rows}


def build(warehouse: Warehouse, rows: list[Row]) -> None:
    models = ("path:models/intermediate", "path:models/marts/gaps")
    warehouse.build((row._asdict() for row in rows), *models)


async def record() -> list[Row]:
    """What the recorder brought in the twelve minutes."""
    rows: list[Row] = []
    async with recorder(ASKED) as (simulators, minute):
        for number in (number for number in range(MINUTES) if number not in STOPPED):
            for fault in FAULTS.get(number, ()):
                assert (await simulators.post("/_sandbox/faults", fault)).status == 201
            rows += await minute(START + number * MINUTE, 6 if number in FAULTS else 60)
            await simulators.delete("/_sandbox/faults")
    return rows


@pytest.fixture(scope="module")
def gaps(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[tuple[Any, ...]], list[Row]]:
    """The gaps after two builds, of which the second begins amid a failure, and the rows behind them."""
    rows = asyncio.run(record())
    warehouse = seeded(tmp_path_factory.mktemp("gaps"))
    for window in (range(3), range(3, MINUTES)):
        build(warehouse, [row for row in rows if (row.tick_ms - START) // MINUTE in window])
    return built(warehouse), rows


def test_each_fault_is_a_gap_of_its_reason_to_the_minute(gaps: tuple[set[tuple[Any, ...]], list[Row]]) -> None:
    found, rows = gaps
    asked = {row.endpoint for row in rows if row.venue == "okx"} - {"perp_bars"}
    assert {"perp_tickers", "spot_tickers", "funding", "open_interest", "marks"} <= asked
    outage = {(1, 3, "okx", kind, "venue_unreachable") for kind in asked}
    assert {gap for gap in found if gap[3] != "perp_bars"} == EXPECTED | outage


def test_bars_that_came_later_leave_no_gap(gaps: tuple[set[tuple[Any, ...]], list[Row]]) -> None:
    """Those of the outage and of the minutes in which the recorder stood still are asked again."""
    found, rows = gaps
    failed = {(row.tick_ms - START) // MINUTE for row in rows if row.endpoint == "perp_bars" and row.error}
    assert failed == {1, 2}
    assert {gap for gap in found if gap[3] == "perp_bars"} == set()


LISTENED = tuple(only(venue, {"perp_tickers", "instruments"}) for venue in (BINANCE, BYBIT, OKX))
SHORT = 1_500  # a minute of the streams lasts this many real milliseconds
DROPPED = 2  # in the middle of this minute the streams of bybit are cut, and refused for two minutes
HEARD = 7


async def listen() -> list[Row]:
    """Seven shortened minutes of streams, with their times stretched to whole minutes."""
    rows: list[Row] = []
    async with recorder(LISTENED) as (simulators, minute):
        schedules = {venue.name: Schedule(venue, SHORT) for venue in LISTENED}
        for row in await minute(START, 60):
            schedules[row.venue].done(row)
        first = (now_ms() // SHORT + 1) * SHORT
        streams = [
            StreamRecorder(venue, stream, simulators.url, schedules[venue.name].catalogue, SHORT, rows.append)
            for venue in LISTENED
            for stream in venue.streams
        ]
        tasks = [asyncio.create_task(stream.run()) for stream in streams]
        await until(first + (DROPPED + 0.5) * SHORT)
        cut = {"kind": "ws_drop", "venue": "bybit", "refuse": True}
        assert (await simulators.post("/_sandbox/faults", cut)).status == 201
        await until(first + (DROPPED + 2.5) * SHORT)
        await simulators.delete("/_sandbox/faults")
        await until(first + (HEARD + 0.5) * SHORT)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def reported(ms: int) -> int:
        return START + (ms - first) * MINUTE // SHORT

    return [
        row._replace(
            tick_ms=reported(row.tick_ms),
            requested_ms=reported(row.requested_ms),
            received_ms=None if row.received_ms is None else reported(row.received_ms),
            body="[]",
        )
        for row in rows
        if first <= row.tick_ms < first + HEARD * SHORT
    ]


async def until(ms: float) -> None:
    await asyncio.sleep(max(0.0, ms - now_ms()) / 1000)


def outcomes(rows: list[Row]) -> dict[str, dict[int, str]]:
    """Per venue and minute how its least connected stream was listened to, from the spans themselves."""
    heard: dict[str, dict[int, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for row in rows:
        number = (row.tick_ms - START) // MINUTE
        heard[row.venue][number][row.key] += (row.received_ms or 0) - row.requested_ms if row.status == 101 else 0
    return {
        venue: {
            number: "ok" if time >= MINUTE else "partial" if time > 0 else "venue_unreachable"
            for number, time in ((number, min(times.values())) for number, times in minutes.items())
        }
        for venue, minutes in heard.items()
    }


def test_a_dropped_stream_is_a_gap_of_its_venue_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As in whole minutes, none passes without an attempt to connect.
    monkeypatch.setattr(streams, "LONGEST_PAUSE_S", 0.4)
    rows = asyncio.run(listen())
    truth = outcomes(rows)
    assert set(truth["binance"].values()) == set(truth["okx"].values()) == {"ok"}
    bybit = truth["bybit"]
    assert [bybit[number] for number in range(HEARD)][:4] == ["ok", "ok", "partial", "venue_unreachable"]
    assert bybit[HEARD - 1] == "ok"
    warehouse = seeded(tmp_path)
    build(warehouse, rows)
    found = built(warehouse)
    assert {gap[2:4] for gap in found} == {("bybit", "liquidations")}
    minutes = {(number, reason) for start, end, _, _, reason in found for number in range(start, end)}
    assert minutes == {(number, outcome) for number, outcome in bybit.items() if outcome != "ok"}
