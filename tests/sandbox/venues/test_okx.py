"""OKX's simulator: its bodies have the structure of OKX's, and a recorded minute equals the simulated market."""

import asyncio
import json
from collections.abc import Callable
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
from sandbox.derived.positioning import long_fraction, takers
from sandbox.http.streams import liquidations_of
from sandbox.market.clock import Clock
from sandbox.market.listing import ANCHOR_MS, Listing
from sandbox.market.universe import build_universe
from sandbox.market.world import World, build_world
from sandbox.venues.okx import SIMULATED
from sandbox.venues.okx.options import FAMILIES
from sandbox.venues.okx.streams import WINDOW_MS, frames
from sandbox.wire.endpoint import Request
from sandbox.wire.settlements import settlements
from tests.support.pipeline.venue_minute import recorded_minute
from tests.support.pipeline.warehouse import MINUTE, Warehouse, seeded
from tests.support.recordings.conformance import differences
from tests.support.recordings.recorded_okx import recorded_okx
from tests.support.servers.loopback_stream import until
from tests.support.servers.sandbox_client import sandbox

NOW_MS = ANCHOR_MS + 4_321  # on the five minutes, so that everything is due
NOW = NOW_MS // MINUTE
DAY_MS = 86_400_000
Minute = tuple[list[dict[str, Any]], World]


@pytest.fixture(scope="module")
def views(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return seeded(tmp_path_factory.mktemp("okx"))


@pytest.fixture(scope="module")
def minute() -> Minute:
    """What the declaration records from the simulator in its first minute."""
    return asyncio.run(recorded_minute(OKX, NOW_MS))


@pytest.fixture(scope="module")
def built(minute: Minute, views: Warehouse) -> Warehouse:
    views.reset().build(minute[0], "raw_window")
    return views


def asking(world: World) -> Callable[..., Any]:
    by_path = {endpoint.path.removeprefix("/api/v5/"): endpoint for endpoint in SIMULATED.endpoints(world)}

    def asked(path: str, **query: Any) -> Any:
        ask = Request({name: str(value) for name, value in query.items()}, None, NOW_MS)
        return json.loads(by_path[path].answer(ask).body)

    return asked


def test_the_simulator_responds_like_the_venue(recordings: Path, minute: Minute) -> None:
    rows, world = minute
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


def test_a_recorded_minute_is_read_without_a_reject(minute: Minute, built: Warehouse) -> None:
    rows, _ = minute
    assert [row for row in rows if row["error"] or row["status"] != 200] == []
    for kind in {endpoint.name for endpoint in OKX.endpoints}:
        assert built.rows(f"select * from stg_okx__{kind} where reject is not null") == [], kind
        assert built.rows(f"select distinct endpoint from stg_okx__{kind}") == [(kind,)], kind


def live(world: World, kind: str) -> dict[str, tuple[int, Listing]]:
    listed, listings = world.minute(NOW).listed, world.universe.listings
    return {listings[n].symbol: (n, listings[n]) for n in world.universe.rows("okx", kind).tolist() if listed[n]}


def test_state_of_swaps_is_the_worlds(minute: Minute, built: Warehouse) -> None:
    _, world = minute
    swaps, state = live(world, "perp"), world.minute(NOW)
    assert {one.inverse for _, one in swaps.values()} == {True, False}
    assert {int(state.hours[row]) for row, _ in swaps.values()} > {4, 8}
    found = built.rows("""
        select symbol, last_price, vol24h_quote, funding_rate, interval_h, next_funding_ms, open_interest,
            open_contracts, mark_price, index_price, i.inverse, i.contract_size, i.status, i.base_raw, i.quote, i.settle
        from stg_okx__perp_tickers
        join stg_okx__funding using (symbol) join stg_okx__open_interest using (symbol)
        join stg_okx__marks using (symbol) join stg_okx__instruments as i using (symbol)""")
    assert {row[0] for row in found} == set(swaps)
    for (symbol, last, volume, rate, hours, following, held, counted, mark, index, inverse, size, status, base, quote,
         settle) in found:  # fmt: skip
        row, one = swaps[symbol]
        assert last == pytest.approx(float(world.last(NOW_MS)[row]), rel=1e-9)
        assert volume == pytest.approx(float(state.quote_24h[row]), rel=0.1)  # at the last price, not at the day's
        assert rate == pytest.approx(float(state.rate[row]), abs=1e-12)
        assert (hours, following % (hours * 3_600_000)) == (int(state.hours[row]), 0)
        assert NOW_MS < following <= NOW_MS + hours * 3_600_000
        assert held == pytest.approx(float(state.oi[row]), rel=1e-9)
        assert counted * size == pytest.approx(held * state.mark[row] if inverse else held, rel=1e-9)
        assert mark == pytest.approx(float(state.mark[row]), rel=1e-4)
        assert index == pytest.approx(float(state.index[row]), rel=1e-4)
        assert (status, base, quote, inverse) == ("trading", one.base_raw, one.quote, one.inverse)
        assert settle == (one.coin if inverse else one.quote)
    spot = built.rows("select symbol, last_price, vol24h_quote from stg_okx__spot_tickers")
    pairs = live(world, "spot")
    assert {row[0] for row in spot} == set(pairs)
    for symbol, last, volume in spot:
        assert last == pytest.approx(float(world.last(NOW_MS)[pairs[symbol][0]]), rel=1e-9)
        assert volume == pytest.approx(float(state.quote_24h[pairs[symbol][0]]), rel=1e-6, abs=1e-6)


def test_bars_and_statistics_are_the_worlds(minute: Minute, built: Warehouse) -> None:
    _, world = minute
    for kind in ("perp", "spot"):
        markets = live(world, kind)
        for name in [symbol for symbol in markets if symbol.startswith(("BTC-USD", "ETH-USD"))]:
            bars = built.rows(f"""select opened_ms, closed_ms - opened_ms, volume, turnover, close
                from stg_okx__{kind}_bars where symbol = '{name}' order by opened_ms""")
            first = world.bars(markets[name][0], NOW - 299, 299)
            assert [row[:2] for row in bars] == [(at * MINUTE, 59_999) for at in range(NOW - 299, NOW)]
            assert [row[2] for row in bars] == pytest.approx(first.volume[0].tolist(), rel=1e-6, abs=1e-7)
            assert [row[3] for row in bars] == pytest.approx(first.quote_volume[0].tolist(), rel=1e-6, abs=1e-7)
            assert [row[4] for row in bars] == pytest.approx(first.close[0].tolist(), rel=1e-9)
    row = live(world, "perp")["BTC-USDT-SWAP"][0]
    starts = np.arange(NOW - 500, NOW, 5)
    for kind in ("accounts", "top_accounts", "top_positions"):
        found = built.rows(f"""select t, period_ms, long_fraction from stg_okx__long_short_{kind}
            where symbol = 'BTC-USDT-SWAP' order by t""")
        assert [one[:2] for one in found] == [(at * MINUTE, 300_000) for at in starts.tolist()]
        shares = long_fraction(world, np.array([row]), kind, starts)[0].tolist()
        assert [one[2] for one in found] == pytest.approx(shares, abs=1e-4)
    found = built.rows("""select taker_buy, taker_sell, unit from stg_okx__taker_ratio
        where symbol = 'BTC-USDT-SWAP' order by t""")
    flow = takers(world, np.array([row]), NOW - 500, 100)
    assert [one[0] for one in found] == pytest.approx(flow.buy_quote[0].tolist(), rel=1e-6)
    assert [one[1] for one in found] == pytest.approx(flow.sell_quote[0].tolist(), rel=1e-6)
    assert {one[2] for one in found} == {"usd"}


def test_settlements_index_legs_and_options_are_the_worlds(minute: Minute, built: Warehouse) -> None:
    _, world = minute
    swaps = live(world, "perp")
    for symbol in [row[0] for row in built.rows("select distinct symbol from stg_okx__settlements")]:
        found = built.rows(f"select settled_ms, funding_rate from stg_okx__settlements where symbol = '{symbol}'")
        wanted = settlements(world, swaps[symbol][0], NOW_MS, len(found))
        assert [row[0] for row in found] == [at for at, _, _ in wanted]
        assert [row[1] for row in found] == pytest.approx([rate for _, rate, _ in wanted], abs=1e-12)
    weights = built.rows("select symbol, sum(weight), min(exchange) from stg_okx__index_components group by symbol")
    assert weights
    assert all(total == pytest.approx(1, abs=1e-3) and exchange.islower() for _, total, exchange in weights)
    books = built.rows("select symbol, ts, bids, asks from stg_okx__index_books")
    assert len(books) == 40
    for symbol, ts, bids, asks in books:
        last = float(world.last(NOW_MS)[live(world, "spot")[symbol][0]])
        assert ts == NOW_MS
        assert bids[0][0] < asks[0][0] == pytest.approx(last, rel=1e-6)
        assert [one[0] for one in bids] == sorted((one[0] for one in bids), reverse=True)
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


async def test_liquidations_over_the_websocket_equal_the_simulated_markets(views: Warehouse) -> None:
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
    views.reset().build([row._asdict() for row in rows], "raw_window")
    found = views.rows("select symbol, side, ts, size_contracts, price, reject from stg_okx__liquidations order by all")
    assert [row[:3] for row in found] == wanted
    events = {(event.listing.symbol, event.ts): event for event in sent}
    for symbol, _, ts, count, price, reject in found:
        event = events[symbol, ts]
        one, usd = event.listing, event.size * event.price
        said = count * one.contract_size * (1.0 if one.inverse else price)
        assert said == pytest.approx(usd, rel=1e-6, abs=one.contract_size if one.inverse else 1e-6)
        assert reject is None


def test_history_of_any_year_and_the_venues_refusals() -> None:
    asked = asking(build_world(build_universe("full"), 1, Clock(fixed_ms=NOW_MS)))
    long_ago = NOW_MS - 3 * 365 * DAY_MS
    page = asked("market/history-candles", instId="BTC-USDT-SWAP", bar="1m", after=long_ago, limit=300)["data"]
    times = [int(bar[0]) for bar in page]
    assert (len(page), times) == (300, sorted(times, reverse=True))
    assert long_ago - MINUTE <= times[0] < long_ago
    assert {bar[8] for bar in page} == {"1"}
    newer = asked("market/history-candles", instId="BTC-USDT-SWAP", after=long_ago, before=times[10])["data"]
    assert [int(bar[0]) for bar in newer] == times[:10]
    assert asked("market/candles", instId="BTC-USDT-SWAP", after=NOW_MS - 2 * DAY_MS)["data"] == []
    history = asked("public/funding-rate-history", instId="BTC-USDT-SWAP", limit=400)["data"]
    assert 3 * 88 < len(history) <= 3 * 92 + 1
    before = asked("public/funding-rate-history", instId="BTC-USDT-SWAP", before=history[5]["fundingTime"])["data"]
    assert before == history[:5]
    held = asked("rubik/stat/contracts/open-interest-history", instId="BTC-USDT-SWAP", period="1H", limit=100)["data"]
    assert [len(row) for row in held] == [4] * 100
    ratio = "rubik/stat/contracts/long-short-account-ratio-contract"
    page = asked(ratio, instId="BTC-USDT-SWAP", period="1H", end=held[50][0], begin=held[60][0])["data"]
    assert [row[0] for row in page] == [row[0] for row in held[51:60]]
    states = {row["state"] for row in asked("public/instruments", instType="SWAP")["data"]}
    assert states >= {"live", "preopen"}
    contracts = [float(row["ctVal"]) for row in asked("public/instruments", instType="SWAP")["data"] if row["ctVal"]]
    assert min(contracts) <= 0.01
    assert max(contracts) >= 1e9
    assert asked("market/candles", instId="NONE-USDT")["code"] == "51001"
    assert asked("market/tickers")["code"] == "50014"
    assert asked(ratio, instId="BTC-USD-SWAP")["code"] == "51001"


async def test_a_paths_rate_limit_returns_429_and_the_declaration_stays_below_it() -> None:
    async with sandbox(now_ms=NOW_MS, rate_limits=True) as venue:
        url = "/www.okx.com/api/v5/public/mark-price"
        answers = [await venue.get(url, instType="SWAP") for _ in range(25)]
        refused = next(one for one in answers if one.status == 429)
        assert refused.json["code"] == "50011"
        elsewhere = await venue.get("/www.okx.com/api/v5/market/tickers", instType="SWAP")
        assert elsewhere.status == 200
    assert OKX.fault is not None
    assert OKX.fault(refused.text) == "code 50011: Too Many Requests"
    assert OKX.fault(elsewhere.text) is None
