"""Spot order books of index components, at every venue: real bodies, simulated bodies, a recorded minute."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ingest.declaration.pairs import legs
from ingest.venues.coinbase import COINBASE
from sandbox.derived.constituents import constituents
from sandbox.derived.ladder import ladder
from sandbox.market.listing import ANCHOR_MS
from sandbox.venues.coinbase import BOOK_LEVELS
from tests.support.pipeline.venue_minute import recorded_minute
from tests.support.pipeline.warehouse import MINUTE, Warehouse, response, seeded
from tests.support.recordings.captures import logged, sample
from tests.support.recordings.conformance import differences
from tests.support.recordings.index_books import VENUES, needed, reported
from tests.support.recordings.recorded import read
from tests.support.servers.sandbox_client import sandbox

AT_MS = 1_790_000_000_000 // MINUTE * MINUTE
NOW = ANCHOR_MS + 7 * 3_600_000 + 2_500
COVERS = 0.06
"""What of a price Coinbase's books are kept to."""


def bodies(recordings: Path) -> dict[str, list[Any]]:
    """Recorded books of spot pairs; those of Coinbase, MEXC and Bitget are the documents' examples."""
    nautilus = {one["file"]: one["json"] for one in read(recordings / "okx/samples.nautilus.json")}
    kucoin = "https://api.kucoin.com/api/v3/market/orderbook/level2?symbol=BCHSV-USDT"
    gate = "https://api.gateio.ws/api/v4/spot/order_book?currency_pair=HAI_ETH&limit=100&with_id=true"
    binance = "https://api.binance.com/api/v3/depth?symbol=NKNUSDT&limit=1000"
    pushed = json.loads((recordings / "bybit/ws_orderbook.500.XRPUSDT.ndjson").read_text().splitlines()[0])
    return {
        "binance": [logged(recordings / "binance/cryptofeed/BINANCE.http.0.0.txt.gz", binance)],
        "bybit": [{"retCode": 0, "result": {**pushed["data"], "ts": pushed["ts"]}, "time": pushed["ts"]}],
        "okx": [nautilus["http_get_order_book.json"]],
        "gate": [
            logged(recordings / "gate/cryptofeed/GATEIO.http.0.0.txt", gate),
            sample(recordings / "gate", "Spot/ExchangeData/GetOrderBook.txt"),
        ],
        "kucoin": [logged(recordings / "kucoin/cryptofeed/KUCOIN.http.0.0.txt.gz", kucoin)],
        "mexc": [sample(recordings / "mexc", "SpotApi/ExchangeData/GetOrderBook.txt")],
        "bitget": [sample(recordings / "bitget", "Spot/ExchangeData/GetOrderBook.txt")],
        "coinbase": [sample(recordings / "coinbase", "GetAggregatedOrderBook.txt")],
    }


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return seeded(tmp_path_factory.mktemp("index_books"))


def test_recorded_books_are_read_by_the_documents(warehouse: Warehouse, recordings: Path) -> None:
    all_of = bodies(recordings)
    rows = [
        response(AT_MS + n * MINUTE, venue, "index_books", body, key="PAIR")
        for venue, of in all_of.items()
        for n, body in enumerate(of)
    ]
    broken = AT_MS + 60 * MINUTE
    for venue in VENUES:
        rows += [response(broken, venue, "index_books", body, key=body[:1]) for body in ('{"bids":[["1', "<html>")]
    warehouse.build(rows, "raw_window")
    for venue, of in all_of.items():
        columns = "tick_ms, symbol, bids, asks, ts, received_ms, size_unit"
        good = warehouse.rows(f"select {columns} from stg_{venue}__index_books where reject is null order by tick_ms")
        assert len(good) == len(of), venue
        for row, body in zip(good, of, strict=True):
            bids, asks, ts = reported(venue, body)
            assert ([list(one) for one in row[2]], [list(one) for one in row[3]]) == (bids, asks)
            assert row[4] == (row[5] if ts is None else ts)
            assert row[1] == ("XRPUSDT" if venue == "bybit" else "PAIR")
            assert row[6] == "base"
        bad = warehouse.rows(f"select tick_ms from stg_{venue}__index_books where reject is not null")
        assert bad == [(broken,), (broken,)], venue


async def test_the_simulators_use_the_venues_wire_formats(recordings: Path) -> None:
    real = bodies(recordings)
    asked: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
        "binance": ("/api.binance.com/api/v3/depth", {"symbol": "DOGEUSDT", "limit": 1000}, {}),
        "bybit": (
            "/api.bybit.com/v5/market/orderbook",
            {"category": "spot", "symbol": "XRPUSDT", "limit": 200},
            {"optional": {"retMsg", "retExtInfo", "cts", "seq"}},
        ),
        "okx": ("/www.okx.com/api/v5/market/books", {"instId": "BTC-USDT", "sz": 400}, {"optional": {"seqId"}}),
        "gate": (
            "/api.gateio.ws/api/v4/spot/order_book",
            {"currency_pair": "XRP_USDT", "limit": 100, "with_id": "true"},
            {"optional": {"current", "update"}, "unscaled": {"asks[][0]", "bids[][0]"}},
        ),
        "kucoin": ("/api.kucoin.com/api/v1/market/orderbook/level2_100", {"symbol": "BCH-USDT"}, {}),
        "mexc": (
            "/api.mexc.com/api/v3/depth",
            {"symbol": "SOLUSDT", "limit": 50},
            {"optional": {"timestamp"}, "unscaled": {"[].bids[][1]"}},
        ),
        "bitget": ("/api.bitget.com/api/v2/spot/market/orderbook", {"symbol": "BTCUSDT"}, {}),
        "coinbase": (
            "/api.exchange.coinbase.com/products/ETH-USD/book",
            {"level": 2},
            {"optional": {"auction", "auction_mode"}},
        ),
    }
    async with sandbox(now_ms=NOW) as client:
        for venue, (path, params, options) in asked.items():
            ours = await client.get(path, **params)
            assert ours.status == 200, ours.text
            counters = {"lastUpdateId", "u", "seq", "id", "sequence"}
            options["unscaled"] = counters | options.get("unscaled", set())
            assert differences(real[venue], [ours.json], **options) == [], venue


@pytest.mark.parametrize("name", list(VENUES))
async def test_index_legs_of_the_highest_open_interest_are_recorded(warehouse: Warehouse, name: str) -> None:
    rows, world = await recorded_minute(needed(VENUES[name], "index_books"), NOW)
    books = [row for row in rows if row["endpoint"] == "index_books"]
    assert [row["error"] for row in books if row["error"]] == []
    warehouse.build(books, "raw_window")
    query = f"select symbol, bids, asks, ts, reject from stg_{name}__index_books"
    found = {symbol: rest for symbol, *rest in warehouse.rows(query)}
    assert 0 < len(books) == len(found) <= 40
    listings, state = world.universe.listings, world.minute(NOW // MINUTE)
    spot = {listings[row].symbol: row for row in world.universe.rows(name, "spot").tolist() if state.listed[row]}
    last = world.last(NOW)
    for symbol, (bids, asks, ts, reject) in found.items():
        assert reject is None
        assert asks[0][0] == pytest.approx(float(last[spot[symbol]]), rel=1e-9)
        assert bids[0][0] < asks[0][0]
        assert abs(ts - NOW) < 60_000 or name in ("binance",)
        assert np.allclose(asks, ladder(world, spot[symbol], len(asks), NOW)[1], rtol=1e-6)
    # Every leg on this venue of the index of a perp among the 20 with the highest open interest.
    perps = [row for row in world.universe.rows(name, "perp").tolist() if state.listed[row]]
    held = {row: float(state.oi[row] * state.mark[row]) for row in perps if listings[row].quote == "USDT"}
    for row in sorted(held, key=lambda row: -held[row])[:15]:
        for venue, base, quote, _ in constituents(world, row, NOW // MINUTE):
            if venue == name and listings[row].inverse is False and quote in ("USDT", "USDC", "USD"):
                pairs = {
                    symbol
                    for symbol, at in spot.items()
                    if (listings[at].base_raw, listings[at].quote) == (base, quote)
                }
                assert pairs & set(found), (base, quote)


async def test_a_book_without_end_is_kept_near_the_price(recordings: Path) -> None:
    rows, world = await recorded_minute(needed(COINBASE, "index_books"), NOW)
    book = next(json.loads(row["body"]) for row in rows if row["endpoint"] == "index_books" and row["key"] == "BTC-USD")
    row = world.universe.row["coinbase", "spot", "BTC-USD"]
    whole = ladder(world, row, BOOK_LEVELS, NOW)
    middle = (whole[0][0, 0] + whole[1][0, 0]) / 2
    for name, side in zip(("bids", "asks"), whole, strict=True):
        near = side[abs(side[:, 0] - middle) <= COVERS * middle]
        assert book["reduced"][name] == len(side) > len(near) == len(book[name])


def test_the_coin_behind_a_multiple_has_the_leg() -> None:
    assert {"PEPEUSDT", "1000PEPEUSDT", "PEPEUSD"} <= set(legs("1000PEPE"))
    assert "SHIB-USDT" in set(legs("SHIB1000", "-"))
    assert "BABYDOGE_USDT" in set(legs("1MBABYDOGE", "_"))
    assert set(legs("1INCH")) == {"1INCHUSDT", "1INCHUSDC", "1INCHUSD"}
    assert set(legs("BTC")) == {"BTCUSDT", "BTCUSDC", "BTCUSD"}
