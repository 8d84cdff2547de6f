"""Aster: staging of real and documented bodies, checked by two independent computations; the simulator; a recorded
minute."""

import asyncio
import itertools
import json
import math
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import ccxt
import pytest

from ingest.landing.rows import Row as Landed
from ingest.recorder.schedule import Catalogue
from ingest.recorder.streams import StreamRecorder
from ingest.venues.aster import ASTER
from sandbox.http.streams import liquidations_of
from sandbox.market.clock import Clock
from sandbox.market.listing import ANCHOR_MS
from sandbox.market.listings.aster import DOLLAR, SHIELD
from sandbox.market.universe import build_universe
from sandbox.market.world import build_world
from sandbox.venues.aster import WINDOW_MS, endpoints
from sandbox.wire.endpoint import Request
from tests.ingest.venues.conftest import FirstMinute
from tests.support.pipeline.warehouse import MINUTE, Warehouse, response, seeded, span
from tests.support.recordings.captures import sample as body_of
from tests.support.recordings.conformance import differences
from tests.support.recordings.recorded import read
from tests.support.servers.loopback_stream import until
from tests.support.servers.sandbox_client import sandbox

NOW_MS = ANCHOR_MS + 12_345
AT_MS = 1_790_000_000_000 // MINUTE * MINUTE
NO_END = 4_133_404_800_000
Row = tuple[str, dict[str, Any]]


def sample(folder: Path, name: str) -> Any:
    return body_of(folder / "aster", name)


def frames(folder: Path) -> list[dict[str, Any]]:
    kept = [entry["message"] for entry in read(folder / "aster" / "ws-messages.tardis.json")]
    text = next(
        entry["text"]
        for entry in read(folder / "aster" / "samples.jkorf.json")
        if entry["file"] == "Subscriptions/Futures/Liquidation.txt"
    )
    return [*(one for one in kept if "forceOrder" in one["stream"]), json.loads(text.split("\n= \n")[1])]


def ticker(row: dict[str, Any]) -> Row:
    parsed = ccxt.aster().parse_ticker(row, {"symbol": row["symbol"], "contract": True, "linear": True})
    return row["symbol"], {"last_price": parsed["last"], "vol24h_quote": parsed["quoteVolume"]}


def bar(row: list[Any]) -> Row:
    at, opened, high, low, close, volume = ccxt.aster().parse_ohlcv(row)
    return "BTCUSDT", {
        "opened_ms": at, "closed_ms": row[6], "open": opened, "high": high, "low": low, "close": close,
        "volume": volume, "turnover": float(row[7]), "taker_buy_turnover": float(row[10]),
    }  # fmt: skip


def recorded(folder: Path) -> tuple[list[dict[str, Any]], dict[str, list[Row]]]:
    """Landed rows, and per kind what must come out."""
    docs, spot = "Endpoints/Futures/ExchangeData/", "Endpoints/Spot/ExchangeData/"
    premium = read(folder / "aster" / "fapi_premiumIndex.2026-07.json")
    info, spot_info = sample(folder, docs + "GetExchangeInfo.txt"), sample(folder, spot + "GetExchangeInfo.txt")
    intervals, settled = sample(folder, docs + "GetFundingInfo.txt"), sample(folder, docs + "GetFundingRates.txt")
    tickers, spot_ticker = sample(folder, docs + "GetTickers.txt"), sample(folder, spot + "GetTicker.txt")
    # A ticker that closed a day before its receipt is out of date: the documents' examples are moved to the present.
    for row in (*tickers, spot_ticker):
        row["closeTime"] = AT_MS
    klines, spot_klines = sample(folder, docs + "GetKlines.txt"), sample(folder, spot + "GetKlines.txt")
    oi = next(
        entry["message"]["data"]
        for entry in read(folder / "aster" / "ws-messages.tardis.json")
        if "openInterest" in entry["message"]["stream"]
    )
    events = [frame["data"] for frame in frames(folder)]
    rows = [
        response(AT_MS, "aster", "funding", premium),
        response(AT_MS, "aster", "instruments", info),
        response(AT_MS, "aster", "spot_instruments", spot_info),
        response(AT_MS, "aster", "funding_intervals", intervals),
        response(AT_MS, "aster", "settlements", settled),
        response(AT_MS, "aster", "perp_tickers", tickers),
        response(AT_MS, "aster", "spot_tickers", [spot_ticker]),
        response(AT_MS, "aster", "perp_bars", klines, key="BTCUSDT"),
        response(AT_MS, "aster", "spot_bars", spot_klines, key="BTCUSDT"),
        response(AT_MS, "aster", "open_interest", oi, key="BTCUSDT"),
        span(AT_MS, "aster", [{"result": None, "id": 1}, *events, *frames(folder)]),
    ]
    parser = ccxt.aster()
    funding = []
    for row in premium:
        parsed = parser.parse_funding_rate(row)
        values = {
            "mark_price": parsed["markPrice"], "index_price": parsed["indexPrice"],
            "funding_rate": parsed["fundingRate"], "next_funding_ms": row["nextFundingTime"],
        }  # fmt: skip
        funding.append((row["symbol"], values))
    expected: dict[str, list[Row]] = {
        "funding": funding,
        "instruments": [
            (row["symbol"], {
                "base_raw": row["baseAsset"], "quote": row["quoteAsset"], "settle": row["marginAsset"],
                "status": "trading", "listed_ms": row["onboardDate"], "category": row["underlyingSubType"],
                "delisted_ms": None if row["deliveryDate"] == NO_END else row["deliveryDate"],
            }) for row in info["symbols"]
        ],
        "spot_instruments": [
            (row["symbol"], {"base_raw": row["baseAsset"], "quote": row["quoteAsset"], "status": "trading"})
            for row in spot_info["symbols"]
        ],
        "funding_intervals": [(row["symbol"], {"interval_h": float(row["fundingIntervalHours"])}) for row in intervals],
        "settlements": [
            (row["symbol"], {"settled_ms": row["fundingTime"], "funding_rate": float(row["fundingRate"])})
            for row in settled
        ],
        "perp_tickers": [ticker(row) for row in tickers],
        "spot_tickers": [ticker(spot_ticker)],
        "perp_bars": [bar(row) for row in klines],
        "spot_bars": [bar(row) for row in spot_klines],
        "open_interest": [("BTCUSDT", {"open_interest": float(oi["openInterest"])})],
        # The bare and the combined form of one event are one event.
        "liquidations": [
            (event["o"]["s"], {
                "side": {"SELL": "long", "BUY": "short"}[event["o"]["S"]], "ts": event["o"]["T"],
                "size": float(event["o"]["z"]), "price": float(event["o"]["ap"]),
            }) for event in events
        ],
    }  # fmt: skip
    return rows, expected


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A warehouse with Aster's staging views alone."""
    return seeded(tmp_path_factory.mktemp("aster"))


def same(got: Any, expected: Any) -> bool:
    if isinstance(got, float) and isinstance(expected, int | float):
        return math.isclose(got, expected, rel_tol=1e-12)
    return bool(got == expected)


def test_every_recorded_value_is_the_bodys(
    recordings: Path, staged: Warehouse, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, expected = recorded(recordings)
    staged.reset().build(rows, "raw_window")
    compared = Counter[str]()
    for kind, wanted in expected.items():
        columns = list(wanted[0][1])
        query = f"select symbol, {', '.join(columns)} from stg_aster__{kind} where reject is null"
        found = [(symbol, dict(zip(columns, values, strict=True))) for symbol, *values in staged.rows(query)]
        assert len(found) == len(wanted), kind
        for symbol, values in wanted:
            compared[kind] += 1
            assert any(
                name == symbol and all(same(one[key], value) for key, value in values.items()) for name, one in found
            ), (kind, symbol, values, found[:3])
        assert staged.rows(f"select * from stg_aster__{kind} where reject is not null") == []
    with capsys.disabled():
        print(f"\nrecorded rows of Aster compared: {dict(compared)}")
    assert compared["funding"] == 17


def test_index_components_and_bodies_that_must_be_rejected(staged: Warehouse) -> None:
    """The documented indexreferences under the exchanges' names here; the venue's own tests, halts and old rows."""
    references = {
        "symbol": "BTCUSDT", "time": 1774077572319,
        "references": [
            {"exchange": "binance", "symbol": "BTCUSDT", "weight": "0.41441441"},
            {"exchange": "okex", "symbol": "BTC-USDT", "weight": "0.13513513"},
            {"exchange": "gateio", "symbol": "BTC_USDT", "weight": "0.04504504"},
            {"exchange": "mxc", "symbol": "BTCUSDT", "weight": "0.06756756"},
        ],
    }  # fmt: skip
    old = {"symbol": "OLDUSDT", "lastPrice": "1", "quoteVolume": "0", "closeTime": AT_MS - 86_400_001, "count": 0}
    rows = [
        response(AT_MS, "aster", "index_components", references, key="BTCUSDT"),
        response(AT_MS, "aster", "perp_tickers", [old, old | {"symbol": "BTCUSDT", "closeTime": AT_MS},
                                                old | {"symbol": "TESTUSDT", "closeTime": AT_MS}]),
        response(AT_MS, "aster", "funding", [
            {"symbol": "HALTUSDT", "markPrice": "1", "indexPrice": "1", "lastFundingRate": "0", "nextFundingTime": 0},
            {"symbol": "BTCUSDT", "markPrice": "", "indexPrice": "1", "lastFundingRate": "0", "nextFundingTime": 9}]),
        response(AT_MS, "aster", "open_interest", {"code": -1121, "msg": "Invalid symbol."}, key="BTCUSDT"),
        response(AT_MS, "aster", "instruments", "<html>"),
    ]  # fmt: skip
    staged.reset().build(rows, "raw_window")
    assert staged.rows(
        "select symbol, exchange, pair, weight from stg_aster__index_components order by weight desc"
    ) == [
        ("BTCUSDT", "binance", "BTCUSDT", 0.41441441),
        ("BTCUSDT", "okx", "BTC-USDT", 0.13513513),
        ("BTCUSDT", "mexc", "BTCUSDT", 0.06756756),
        ("BTCUSDT", "gate", "BTC_USDT", 0.04504504),
    ]
    assert staged.rows("select symbol, reject from stg_aster__perp_tickers") == [("BTCUSDT", None)]
    assert staged.rows("select symbol, reject from stg_aster__funding") == [("BTCUSDT", "incomplete")]
    assert staged.rows("select reject from stg_aster__open_interest") == [("incomplete",)]
    assert staged.rows("select reject from stg_aster__instruments") == [("unreadable",)]


INDEX = {"symbol": "BTCUSDT", "time": 1774077572319,
         "references": [{"exchange": "binance", "symbol": "BTCUSDT", "weight": "0.41441441"}]}  # fmt: skip


def test_the_simulator_responds_like_the_venue(recordings: Path, first_minute: FirstMinute) -> None:
    docs, spot = "Endpoints/Futures/ExchangeData/", "Endpoints/Spot/ExchangeData/"
    real = {
        "funding": read(recordings / "aster" / "fapi_premiumIndex.2026-07.json"),
        "instruments": sample(recordings, docs + "GetExchangeInfo.txt"),
        "spot_instruments": sample(recordings, spot + "GetExchangeInfo.txt"),
        "funding_intervals": sample(recordings, docs + "GetFundingInfo.txt"),
        "settlements": sample(recordings, docs + "GetFundingRates.txt"),
        "perp_tickers": sample(recordings, docs + "GetTickers.txt"),
        "spot_tickers": [sample(recordings, spot + "GetTicker.txt")],
        "perp_bars": sample(recordings, docs + "GetKlines.txt"),
        "spot_bars": sample(recordings, spot + "GetKlines.txt"),
        "open_interest": {"symbol": "BTCUSDT", "openInterest": "6196.323", "time": 1787059914451},
        "index_components": INDEX,
    }
    options: dict[str, dict[str, Any]] = {
        # The documents' example markets are of no common size.
        "perp_tickers": {"tolerance": 1e9}, "spot_tickers": {"optional": {"baseAsset", "quoteAsset"}, "tolerance": 1e9},
        "perp_bars": {"tolerance": 1e12, "unscaled": {"[][11]"}}, "spot_bars": {"tolerance": 1e12},
        "instruments": {"unscaled": {"minPrice", "maxPrice", "minQty", "maxQty"}, "optional": {"filters[].limit"}},
        "spot_instruments": {"ignored": {"filters"}, "unscaled": {"limit"}},
        "settlements": {"tolerance": 1e6},
    }  # fmt: skip
    asked = {row["endpoint"]: json.loads(row["body"]) for row in first_minute.rows["aster"]}
    assert set(asked) - {"liquidations"} == {endpoint.name for endpoint in ASTER.endpoints} == set(real)
    for kind, body in real.items():
        assert differences(body, asked[kind], **options.get(kind, {})) == [], kind


async def test_liquidations_over_the_websocket_equal_the_simulated_markets(staged: Warehouse) -> None:
    (stream,) = ASTER.streams
    rows: list[Landed] = []
    async with sandbox(now_ms=NOW_MS) as venue:
        recorder = StreamRecorder(ASTER, stream, venue.url, Catalogue(ASTER), MINUTE, rows.append)
        task = asyncio.create_task(recorder.run())
        try:
            await until(lambda: recorder.connected and venue.app.ctx.sandbox.hub.connections)
            hub, world = venue.app.ctx.sandbox.hub, venue.app.ctx.sandbox.world
            first = NOW_MS // MINUTE - 60
            hub.send_due(first * MINUTE + 1000, (first + 60) * MINUTE)
            sent = [
                event for at in range(first, first + 60) for event in liquidations_of(world, "aster", at, WINDOW_MS)
            ]
            wanted = sorted(
                (event.listing.symbol, "long" if event.long else "short", event.ts)
                for event in sent if not event.listing.group and event.ts >= first * MINUTE + 1000
            )  # fmt: skip
            await until(lambda: sum(len(json.loads(row.body or "[]")) for row in rows) == len(wanted))
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
    assert len(wanted) > 20
    staged.reset().build([row._asdict() for row in rows], "raw_window")
    found = staged.rows("select symbol, side, ts, size * price, reject from stg_aster__liquidations order by all")
    assert [row[:3] for row in found] == wanted
    assert {row[4] for row in found} == {None}
    usd = {(event.listing.symbol, event.ts): event.size * event.price for event in sent}
    for symbol, _, ts, said, _ in found:
        assert said == pytest.approx(usd[symbol, ts], rel=1e-6)


def test_history_of_past_years_and_the_venues_refusals() -> None:
    """Settlements and klines of any time, ascending; bulk settlements are those of the hours asked for."""
    world = build_world(build_universe("full"), 1, Clock(fixed_ms=NOW_MS))
    by_path = {endpoint.path: endpoint for endpoint in endpoints(world)}

    def asked(path: str, **query: Any) -> Any:
        return json.loads(by_path[path].respond(Request({k: str(v) for k, v in query.items()}, None, NOW_MS)).body)

    year = 365 * 86_400_000
    old = asked("/fapi/v1/fundingRate", symbol="BTCUSDT", startTime=NOW_MS - 2 * year, limit=1000)
    assert len(old) == 1000
    assert all(b["fundingTime"] - a["fundingTime"] == 8 * 3_600_000 for a, b in itertools.pairwise(old))
    assert old[0]["fundingTime"] - (NOW_MS - 2 * year) < 8 * 3_600_000
    bulk = asked("/fapi/v1/fundingRate", startTime=NOW_MS - 7_200_000, limit=1000)
    assert [row["fundingTime"] for row in bulk] == sorted(row["fundingTime"] for row in bulk)
    assert {row["fundingTime"] for row in bulk} == {ANCHOR_MS - 3_600_000, ANCHOR_MS}
    assert len({row["symbol"] for row in bulk}) > 500
    bars = asked("/fapi/v1/klines", symbol="BTCUSDT", interval="1m", startTime=NOW_MS - 2 * year, limit=1500)
    assert len(bars) == 1500
    assert asked("/fapi/v3/indexreferences", symbol="NONE")["code"] == -1000
    assert asked("/fapi/v1/openInterest", symbol="NONE")["code"] == -1121
    marked = asked("/fapi/v1/premiumIndex")
    assert len(asked("/fapi/v1/ticker/24hr")) > 500
    assert any(row["symbol"].startswith("SHIELD") for row in marked)
    groups = {one.group for one in world.universe.listings if one.venue == "aster"}
    assert groups == {"", SHIELD, DOLLAR}
