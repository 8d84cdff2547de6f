"""Binance: its statistics, books, index constituents and settlements, as really sent, as simulated, as recorded."""

import json
import math
from pathlib import Path
from typing import Any

import ccxt
import pytest

from ingest.venues.binance import BINANCE
from sandbox.market.listing import ANCHOR_MS
from tests.ingest.venues.conftest import NOW_MS, FirstMinute
from tests.support.pipeline.warehouse import MINUTE, Warehouse, response, seeded
from tests.support.recordings.captures import sample
from tests.support.recordings.conformance import differences
from tests.support.recordings.recorded import kept
from tests.support.servers.sandbox_client import sandbox

TICK = 1_790_000_000_000 // MINUTE * MINUTE
HOUR = 3_600_000
PERIODS = {"5m": 300_000, "4h": 14_400_000, "1d": 86_400_000}
FILES = {
    "long_short_accounts": "futures_data_globalLongShortAccountRatio.gct.json",
    "long_short_top_accounts": "futures_data_topLongShortAccountRatio.gct.json",
    "long_short_top_positions": "futures_data_topLongShortPositionRatio.gct.json",
    "taker_ratio": "futures_data_takerlongshortRatio.gct.json",
    "order_books": "fapi_v1_depth.gct.json",
    "settlements": "fapi_v1_fundingRate.gct.json",
}
RATIOS = tuple(FILES)[:3]


def bodies(recordings: Path, kind: str) -> list[tuple[dict[str, str], Any]]:
    """(parameters, body) of all recorded bodies of a kind; those of the coin-margined pairs are another format."""
    asked = [(dict(part.split("=") for part in query.split("&")), body)
             for query, body in kept(recordings / "binance" / FILES[kind])]  # fmt: skip
    return [(params, body) for params, body in asked if "pair" not in params]


def constituents(recordings: Path) -> Any:
    return sample(recordings / "binance", "UsdFutures/ExchangeData/GetIndexPriceConstituents.txt")


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return seeded(tmp_path_factory.mktemp("binance"))


@pytest.fixture(scope="module")
def real(warehouse: Warehouse, recordings: Path) -> Warehouse:
    """All recorded bodies, each in a tick of its own."""
    rows = [response(TICK, "binance", "index_components", constituents(recordings), key="BTCUSDT")]
    for kind in FILES:
        for n, (params, body) in enumerate(bodies(recordings, kind)):
            key = "" if kind == "settlements" else params["symbol"]
            rows.append(response(TICK + n * MINUTE, "binance", kind, body, key=key, params=json.dumps(params)))
    warehouse.build(rows, "raw_window")
    return warehouse


def test_every_recorded_share_is_read(real: Warehouse, recordings: Path) -> None:
    """ccxt has the ratio of longs to shorts alone: the share follows from it, as well as the body's digits allow."""
    exchange = ccxt.binanceusdm()
    for kind in RATIOS:
        got = real.rows(f"select tick_ms, symbol, t, period_ms, long_fraction, reject from stg_binance__{kind}")
        want = {}
        for n, (params, body) in enumerate(bodies(recordings, kind)):
            for one in body:
                parsed = exchange.parse_long_short_ratio(one)
                share = parsed["longShortRatio"] / (1 + parsed["longShortRatio"])
                want[TICK + n * MINUTE, params["symbol"], parsed["timestamp"], PERIODS[params["period"]]] = share
        assert {row[:4] for row in got} == set(want)
        assert len(got) == len(want)
        assert all(row[5] is None and math.isclose(row[4], want[row[:4]], abs_tol=1e-4) for row in got)


def test_every_recorded_taker_volume_is_read(real: Warehouse, recordings: Path) -> None:
    ((_, body),) = bodies(recordings, "taker_ratio")
    got = real.rows("select symbol, t, period_ms, taker_buy, taker_sell, unit from stg_binance__taker_ratio")
    want = [("BTCUSDT", one["timestamp"], 300_000, float(one["buyVol"]), float(one["sellVol"]), "base") for one in body]
    assert sorted(got) == sorted(want)
    ratios = {one["timestamp"]: float(one["buySellRatio"]) for one in body}
    assert all(math.isclose(row[3] / row[4], ratios[row[1]], abs_tol=1e-4) for row in got)


def test_every_recorded_book_is_read(real: Warehouse, recordings: Path) -> None:
    exchange = ccxt.binanceusdm()
    got = {row[0]: row[1:] for row in real.rows("select tick_ms, symbol, ts, bids, asks, reject from "
                                                "stg_binance__order_books")}  # fmt: skip
    want = bodies(recordings, "order_books")
    assert len(got) == len(want) == 3
    for n, (params, body) in enumerate(want):
        parsed = exchange.parse_order_book(body, params["symbol"], body["T"])
        symbol, ts, bids, asks, reject = got[TICK + n * MINUTE]
        assert (symbol, ts, reject) == (params["symbol"], parsed["timestamp"], None)
        assert [list(level) for level in bids] == parsed["bids"]
        assert [list(level) for level in asks] == parsed["asks"]


def test_every_recorded_settlement_and_constituent_is_read(real: Warehouse, recordings: Path) -> None:
    got = real.rows("select tick_ms, symbol, settled_ms, funding_rate, reject from stg_binance__settlements")
    want = [
        (TICK + n * MINUTE, one["symbol"], one["fundingTime"], float(one["fundingRate"]), None)
        for n, (_, body) in enumerate(bodies(recordings, "settlements"))
        for one in body
    ]
    assert len(got) > 100
    assert sorted(got) == sorted(want)
    got = real.rows("select symbol, exchange, pair, weight, reject from stg_binance__index_components")
    body = constituents(recordings)["constituents"]
    names = {"gateio": "gate", "mxc": "mexc"}
    assert sorted(got) == sorted(
        ("BTCUSDT", names.get(one["exchange"], one["exchange"]), one["symbol"], float(one["weight"]), None)
        for one in body
    )
    assert sum(row[3] for row in got) == pytest.approx(1, abs=1e-6)


def test_a_broken_body_is_one_rejected_row(warehouse: Warehouse) -> None:
    kinds = (*FILES, "index_components")
    later = TICK + 90 * MINUTE
    warehouse.build(
        [response(later, "binance", kind, body, key=key) for kind in kinds for key, body in
         (("A", '[{"symbol":"A","longAcc'), ("B", "<html>"), ("C", '{"code":-1121,"msg":"Invalid symbol."}'))],
        "raw_window",
    )  # fmt: skip
    for kind in kinds:
        found = warehouse.rows(f"select key, reject is not null from stg_binance__{kind} order by key")
        assert found == [("A", True), ("B", True), ("C", True)], kind
    # An empty list says that there is nothing, except where there always is something.
    warehouse.build([response(later, "binance", kind, "[]", key="A") for kind in FILES], "raw_window")
    counts = {kind: warehouse.rows(f"select count(*) from stg_binance__{kind}")[0][0] for kind in FILES}
    assert {kind for kind, count in counts.items() if count} == {"order_books", "settlements"}


async def test_the_simulator_uses_the_venues_wire_format(recordings: Path) -> None:
    paths = {**{kind: f"/futures/data/{FILES[kind].split('.')[0].removeprefix('futures_data_')}" for kind in FILES},
             "order_books": "/fapi/v1/depth", "settlements": "/fapi/v1/fundingRate"}  # fmt: skip
    async with sandbox(now_ms=ANCHOR_MS + 37_500) as client:
        for kind, path in paths.items():
            for params, body in bodies(recordings, kind):
                asked = {name: value for name, value in params.items() if name not in ("startTime", "endTime")}
                ours = (await client.get(f"/fapi.binance.com{path}", **asked)).json
                # The mark price came to the settlements in 2023.
                assert differences(body, ours, optional={"markPrice"}) == [], (kind, params)
        assert (
            len((await client.get("/fapi.binance.com/fapi/v1/depth", symbol="BTCUSDT", limit=1000)).json["bids"]) > 900
        )
        ours = (await client.get("/fapi.binance.com/fapi/v1/constituents", symbol="BTCUSDT")).json
        assert differences(constituents(recordings), ours) == []
        theirs = next(body for params, body in kept(recordings / "binance" / "futures_data_openInterestHist.gct.json")
                      if "BTCUSDT" in params)  # fmt: skip
        ours = (await client.get("/fapi.binance.com/futures/data/openInterestHist", symbol="BTCUSDT", period="5m")).json
        assert differences(theirs, ours) == []
        theirs = next(body for _, body in kept(recordings / "binance" / "api_v3_depth.gct.json"))
        ours = (await client.get("/api.binance.com/api/v3/depth", symbol="BTCUSDT", limit=1000)).json
        assert differences(theirs, ours) == []


async def test_the_past_is_asked_by_time() -> None:
    async with sandbox(now_ms=ANCHOR_MS + 37_500) as client:
        data, start = "/fapi.binance.com/futures/data", ANCHOR_MS - 20 * 86_400_000
        for path in ("globalLongShortAccountRatio", "openInterestHist", "takerlongshortRatio"):
            asked: dict[str, Any] = {"symbol": "ETHUSDT", "period": "5m"}
            first = (await client.get(f"{data}/{path}", **asked, startTime=start, limit=500)).json
            assert [one["timestamp"] for one in first] == list(range(start, start + 500 * 300_000, 300_000))
            part = (await client.get(f"{data}/{path}", **asked, endTime=start + 9 * 300_000, limit=4)).json
            assert part == first[6:10]
            newest = (await client.get(f"{data}/{path}", **asked)).json
            assert len(newest) == 30
            ended = path == "takerlongshortRatio"
            assert newest[-1]["timestamp"] == ANCHOR_MS - (300_000 if ended else 0)
            refused = await client.get(f"{data}/{path}", **asked, startTime=ANCHOR_MS - 31 * 86_400_000)
            assert (refused.status, refused.json["code"]) == (400, -1130)
        bars = (await client.get("/fapi.binance.com/fapi/v1/klines", symbol="ETHUSDT", interval="5m", startTime=start,
                                 limit=500)).json  # fmt: skip
        assert [float(bar[9]) for bar in bars] == pytest.approx([float(one["buyVol"]) for one in first], rel=2e-3)
        rates, year = "/fapi.binance.com/fapi/v1/fundingRate", ANCHOR_MS - 3 * 365 * 86_400_000
        paid = (await client.get(rates, symbol="ETHUSDT", startTime=year, limit=1000)).json
        assert len(paid) == 1000
        assert all(0 <= one["fundingTime"] % 28_800_000 < 60 for one in paid)
        assert [one["fundingTime"] for one in paid] == sorted(one["fundingTime"] for one in paid)
        later = (await client.get(rates, symbol="ETHUSDT", startTime=paid[4]["fundingTime"], limit=3)).json
        assert later == paid[5:8] or later == paid[4:7]
        everyone = (await client.get(rates, limit=1000)).json
        assert len(everyone) == 1000
        own = [one for one in everyone if one["symbol"] == "ETHUSDT"]
        newest = (await client.get(rates, symbol="ETHUSDT", limit=len(own))).json
        assert own == newest


def test_what_is_asked_in_turn_and_of_the_highest_open_interest(first_minute: FirstMinute) -> None:
    rows, world, warehouse = first_minute.rows["binance"], first_minute.world, first_minute.warehouse
    asked = {endpoint.name: sum(row["endpoint"] == endpoint.name for row in rows) for endpoint in BINANCE.endpoints}
    listings, state = world.universe.listings, world.minute(NOW_MS // MINUTE)
    perps = [row for row in world.universe.rows("binance", "perp").tolist() if state.listed[row]]
    assert asked["open_interest"] == len(perps)
    assert asked["order_books"] == 20
    assert all(asked[kind] == 50 + -(-(len(perps) - 50) * 300 // 3600) for kind in (*RATIOS, "taker_ratio"))
    assert asked["index_components"] == -(-len(perps) * 300 // 3600)
    # Ranked by open interest in USD.
    held = {listings[row].symbol: float(state.oi[row] * state.mark[row]) for row in perps}
    tether = sorted((symbol for symbol in held if symbol.endswith("USDT")), key=lambda symbol: -held[symbol])
    books = warehouse.rows("select symbol, ts, bids, asks from stg_binance__order_books")
    assert {book[0] for book in books} == set(tether[:20])
    assert {(len(bids), len(asks), abs(ts - NOW_MS) < 5_000) for _, ts, bids, asks in books} == {(500, 500, True)}
    for kind in RATIOS:
        found = warehouse.rows(f"select count(*), list(distinct period_ms) from stg_binance__{kind}")
        assert found == [(asked[kind] * 100, [300_000])]
    assert warehouse.rows("select count(*) from stg_binance__settlements") == [(1000,)]
    assert warehouse.rows("select count(distinct symbol) from stg_binance__index_components") == [
        (asked["index_components"],)]  # fmt: skip
