"""OKX: what it really sent, read by the staging views, every value by two routes."""

import asyncio
import json
import math
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ingest.landing.rows import Row as Landed
from ingest.recorder.schedule import Catalogue
from ingest.recorder.streams import StreamRecorder
from ingest.venues.okx import OKX
from sandbox.derived.chain import chain
from sandbox.http.streams import liquidations_of
from sandbox.venues.okx.options import FAMILIES
from sandbox.venues.okx.streams import WINDOW_MS, frames
from tests.ingest.venues.conftest import NOW_MS, FirstMinute
from tests.support.pipeline.warehouse import MINUTE, Warehouse, seeded
from tests.support.recordings.conformance import differences
from tests.support.recordings.recorded_okx import RecordedOkx, recorded_okx
from tests.support.servers.loopback_stream import until
from tests.support.servers.sandbox_client import sandbox

NOW = NOW_MS // MINUTE
NAMED = {"option_tickers": "instrument", "option_open_interest": "instrument", "option_volumes": "instrument"}


def same(got: Any, expected: Any) -> bool:
    if isinstance(got, float) and isinstance(expected, int | float):
        return math.isclose(got, expected, rel_tol=1e-12)
    if isinstance(got, list):
        return [tuple(one) if isinstance(one, list | tuple) else one for one in got] == list(expected)
    return bool(got == expected)


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A warehouse with OKX's staging views alone."""
    return seeded(tmp_path_factory.mktemp("okx"))


@pytest.fixture(scope="module")
def built(recordings: Path, staged: Warehouse) -> tuple[RecordedOkx, Warehouse]:
    """The recorded bodies, each in a minute of its own."""
    expected = recorded_okx(recordings)
    staged.build(expected.rows, "raw_window")
    return expected, staged


def test_every_recorded_value_is_the_bodys(
    built: tuple[RecordedOkx, Warehouse], capsys: pytest.CaptureFixture[str]
) -> None:
    recorded, warehouse = built
    wrong, compared = [], Counter[str]()
    for kind, rows in recorded.expected.items():
        columns = list(dict.fromkeys(name for _, values in rows for name in values))
        name = NAMED.get(kind, "symbol")
        query = f"select {name}, {', '.join(columns)} from stg_okx__{kind} where reject is null"
        found: dict[str, list[dict[str, Any]]] = {}
        for symbol, *got in warehouse.rows(query):
            found.setdefault(symbol, []).append(dict(zip(columns, got, strict=True)))
        assert sum(map(len, found.values())) == len(rows), kind
        for symbol, values in rows:
            compared[kind] += 1
            # Turnover by coins at the last price and by contracts are two numbers of the venue's.
            loose = {"vol24h_quote"} if kind == "perp_tickers" else set()
            if not any(
                all(
                    math.isclose(one[key], value, rel_tol=0.02) if key in loose else same(one[key], value)
                    for key, value in values.items()
                )
                for one in found.get(symbol, [])
            ):
                wrong.append((kind, symbol, values, found.get(symbol, [])[:2]))
    with capsys.disabled():
        print(f"\nrecorded rows of OKX compared: {dict(compared)}, different: {len(wrong)}")
    assert not wrong, f"{len(wrong)} differ: {wrong[:5]}"


def test_nothing_recorded_was_rejected(built: tuple[RecordedOkx, Warehouse]) -> None:
    recorded, warehouse = built
    for kind in recorded.expected:
        assert warehouse.rows(f"select * from stg_okx__{kind} where reject is not null") == [], kind


def test_the_simulator_responds_like_the_venue(recordings: Path, first_minute: FirstMinute) -> None:
    rows, world = first_minute.rows["okx"], first_minute.world
    real = recorded_okx(recordings).bodies
    said = {row["endpoint"]: json.loads(row["body"]) for row in reversed(rows)}
    said["liquidations"] = [json.loads(frame) for at in range(NOW - 30, NOW) for _, _, frame in frames(world, at)]
    # The few recorded rows are of bitcoin: their prices are compared with bitcoin's.
    for kind in ("perp_tickers", "marks", "index_tickers"):
        said[kind]["data"] = [row for row in said[kind]["data"] if row["instId"].startswith("BTC-")]
    newer = {"contTdSwTime", "futureSettlement", "instIdCode", "maxPlatOILmt", "openType", "posLmtAmt", "posLmtPct",
             "preMktSwTime", "tradeQuoteCcyList"}  # fmt: skip
    options: dict[str, dict[str, Any]] = {
        "spot_instruments": {"optional": newer},  # the recorded pairs are older than the recorded swaps
        "option_open_interest": {"optional": {"oiUsd"}},  # came later
        "option_volumes": {"ignored": {"bidPx", "bidSz"}},  # the one recorded option has no bid
    }
    without = {"spot_bars"}
    assert set(real) == {endpoint.name for endpoint in OKX.endpoints} - without | {"liquidations"}
    for kind, bodies in real.items():
        ours = said[kind] if kind == "liquidations" else [said[kind]]
        assert differences(bodies, ours, **options.get(kind, {})) == [], kind


def test_contracts_and_coins_are_one_open_interest(first_minute: FirstMinute) -> None:
    """Contracts of coin-margined swaps are dollars, at the mark price."""
    world = first_minute.world
    state = world.minute(NOW)
    found = first_minute.warehouse.rows("""
        select symbol, open_interest, inverse, open_contracts * contract_size
        from stg_okx__open_interest join stg_okx__instruments using (symbol)""")
    rows = {symbol: world.universe.row["okx", "perp", symbol] for symbol, *_ in found}
    assert {int(state.hours[row]) for row in rows.values()} > {4, 8}
    for symbol, coins, inverse, contracts in found:
        held = coins * state.mark[rows[symbol]] if inverse else coins
        assert contracts == pytest.approx(held, rel=1e-9), symbol


def test_a_recorded_chain_is_the_worlds(first_minute: FirstMinute) -> None:
    built, world = first_minute.warehouse, first_minute.world
    assert built.rows("select count(*), count(distinct ts), min(ts) from stg_okx__index_books") == [(40, 1, NOW_MS)]
    for family, (size, held) in FAMILIES.items():
        coin = family.partition("-")[0]
        options = chain(world, "okx", coin, NOW, held)
        found = built.rows(f"""
            select expiry_ms, strike, option_type, mark_iv, bid_iv, ask_iv, forward, open_interest_coins,
                open_contracts, volume_coins
            from stg_okx__option_tickers join stg_okx__option_open_interest using (instrument)
            join stg_okx__option_volumes using (instrument) where coin = '{coin}'""")
        keys = zip(options.expiry_ms.tolist(), options.strike.tolist(), options.call.tolist(), strict=True)
        at = {key: n for n, key in enumerate(keys)}
        assert {(row[0], row[1], row[2] == "call") for row in found} == set(at)
        for expiry, strike, kind, mark, bid, ask, forward, coins, contracts, volume in found:
            n = at[expiry, strike, kind == "call"]
            assert mark == pytest.approx(float(options.mark_iv[n]), rel=1e-12)
            assert (bid is None) == bool(np.isnan(options.bid_iv[n]))
            assert (bid or 0) < mark < ask
            assert forward == pytest.approx(float(options.forward[n]), rel=1e-9)
            assert coins == pytest.approx(float(options.open_interest[n]), abs=size / 2 + 1e-9)
            assert contracts * size == pytest.approx(coins, abs=1e-9)
            assert volume <= coins + size


async def test_liquidations_come_over_the_socket_and_are_the_worlds(staged: Warehouse) -> None:
    (stream,) = OKX.streams
    rows: list[Landed] = []
    async with sandbox(now_ms=NOW_MS) as venue:
        catalogue = Catalogue(OKX)
        catalogue.learn(Landed(0, "okx", "perp_tickers", "", "{}", 200, 0, 1, 1, None, '{"data":[]}'))
        recorder = StreamRecorder(OKX, stream, venue.url, catalogue, MINUTE, rows.append)
        task = asyncio.create_task(recorder.run())
        try:
            hub, world = venue.app.ctx.sandbox.hub, venue.app.ctx.sandbox.world
            await until(lambda: any(one.topics for one in hub.connections))
            first = NOW - 12
            hub.send_due(first * MINUTE + 1000, NOW * MINUTE)
            sent = [event for at in range(first, NOW) for event in liquidations_of(world, "okx", at, WINDOW_MS)]
            wanted = sorted(
                (event.listing.symbol, "long" if event.long else "short", event.ts)
                for event in sent if event.ts // 1000 > first * 60 and event.ts // 1000 < NOW * 60
            )  # fmt: skip
            await until(lambda: sum(len(json.loads(row.body or "[]")) for row in rows) == len(wanted) + 1)
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
    assert len(wanted) > 20
    assert '"net"' in "".join(row.body or "" for row in rows)
    staged.reset().build([row._asdict() for row in rows], "raw_window")
    columns = "symbol, side, ts, size_contracts, price, reject"
    found = staged.rows(f"select {columns} from stg_okx__liquidations order by all")
    assert [row[:3] for row in found] == wanted
    events = {(event.listing.symbol, event.ts): event for event in sent}
    for symbol, _, ts, count, price, reject in found:
        event = events[symbol, ts]
        one, usd = event.listing, event.size * event.price
        said = count * one.contract_size * (1.0 if one.inverse else price)
        assert said == pytest.approx(usd, rel=1e-6, abs=one.contract_size if one.inverse else 1e-6)
        assert reject is None
