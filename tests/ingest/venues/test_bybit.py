"""Bybit: its account ratio, books, index components, settlements and options, as sent, as simulated, as recorded."""

import json
import math
from datetime import datetime
from pathlib import Path
from typing import Any

import ccxt
import pytest

from ingest.venues.bybit import BYBIT
from sandbox.market.listing import ANCHOR_MS
from tests.ingest.venues.conftest import NOW_MS, FirstMinute
from tests.support.pipeline.warehouse import MINUTE, Warehouse, response, seeded, span
from tests.support.recordings.captures import sample
from tests.support.recordings.conformance import differences
from tests.support.recordings.recorded import read
from tests.support.servers.sandbox_client import sandbox

AT_MS = 1_790_000_000_000 // MINUTE * MINUTE
HOUR = 3_600_000
MARKET = "/api.bybit.com/v5/market"
# The document's example, shortened (https://bybit-exchange.github.io/docs/v5/market/index-components): no body of it
# was recorded.
COMPONENTS = {
    "retCode": 0, "retMsg": "",
    "result": {"indexName": "1000BTTUSDT", "lastPrice": "0.0006496", "updateTime": "1758182745072", "components": [
        {"exchange": "GateIO", "spotPair": "BTT_USDT", "equivalentPrice": "0.0006485", "multiplier": "1000",
         "price": "0.0006485", "weight": "0.1383220862762299"},
        {"exchange": "Binance", "spotPair": "BTTCUSDT", "equivalentPrice": "0.00065", "multiplier": "1000",
         "price": "0.00065", "weight": "0.5322401401714303"}]},
    "retExtInfo": {}, "time": 1758182745621,
}  # fmt: skip
SINGLE_SIDED = {"singleOpenInterest", "singleOpenInterestValue", "fundingIntervalHour"}
"""Fields of tickers that came after the inverse ones were recorded."""
KINDS = ("long_short_accounts", "order_books", "index_components", "settlements")


class Bodies:
    """(key, parameters, body) of all recorded bodies per kind."""

    def __init__(self, recordings: Path) -> None:
        folder = recordings / "bybit"
        nautilus = {one["file"]: one["json"] for one in read(folder / "samples.nautilus.json")}
        hourly, five = {"period": "1h"}, {"period": "5min"}
        pushed = json.loads((folder / "ws_orderbook.500.XRPUSDT.ndjson").read_text().splitlines()[0])
        # The stream's snapshot has the fields of the REST body, the time one level up.
        book = {"retCode": 0, "result": {**pushed["data"], "ts": pushed["ts"]}, "time": pushed["ts"]}
        self.of: dict[str, list[tuple[str, dict[str, str], Any]]] = {
            "long_short_accounts": [
                ("BTCUSDT", hourly, read(folder / "v5_market_account-ratio.2026-09.json")),
                ("BTCUSDT", five, sample(folder, "V5Api/ExchangeData/GetLongShortRatio.txt")),
            ],
            "order_books": [
                ("BTCUSDT", {}, nautilus["http_get_orderbook.json"]),
                ("BTCUSDT", {}, sample(folder, "V5Api/ExchangeData/GetOrderbook.txt")),
                ("XRPUSDT", {}, book),
            ],
            "settlements": [
                ("BTCUSDT", {}, nautilus["http_get_funding_history.json"]),
                ("ETHPERP", {}, sample(folder, "V5Api/ExchangeData/GetFundingRateHistory.txt")),
            ],
            "index_components": [("1000BTTUSDT", {}, COMPONENTS)],
        }
        self.inverse = read(folder / "bybit_tickers.inverse_api.jhabermas2024.json")
        self.open_interest = sample(folder, "V5Api/ExchangeData/GetOpenInterest.txt")


@pytest.fixture(scope="module")
def bodies(recordings: Path) -> Bodies:
    return Bodies(recordings)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return seeded(tmp_path_factory.mktemp("bybit"))


@pytest.fixture(scope="module")
def real(warehouse: Warehouse, bodies: Bodies) -> Warehouse:
    """All bodies, those of a kind each in a minute of its own."""
    warehouse.build(
        [
            response(AT_MS + n * MINUTE, "bybit", kind, body, key=key, params=json.dumps(params))
            for kind, all_of in bodies.of.items()
            for n, (key, params, body) in enumerate(all_of)
        ],
        "raw_window",
    )
    return warehouse


def test_every_recorded_row_is_read(real: Warehouse, bodies: Bodies) -> None:
    exchange = ccxt.bybit()
    got = real.rows("select tick_ms, symbol, t, period_ms, long_fraction, reject from stg_bybit__long_short_accounts")
    for n, (key, params, body) in enumerate(bodies.of["long_short_accounts"]):
        (row,) = [row for row in got if row[0] == AT_MS + n * MINUTE]
        parsed = exchange.parse_long_short_ratio(body["result"]["list"][0])
        share = parsed["longShortRatio"] / (1 + parsed["longShortRatio"])
        assert row[1:4] == (key, parsed["timestamp"], {"1h": HOUR, "5min": 300_000}[params["period"]])
        assert row[5] is None
        assert math.isclose(row[4], share, abs_tol=1e-9)
    got = real.rows("select tick_ms, symbol, ts, bids, asks, reject, size_unit from stg_bybit__order_books")
    assert len(got) == 3
    for n, (key, _, body) in enumerate(bodies.of["order_books"]):
        (row,) = [row for row in got if row[0] == AT_MS + n * MINUTE]
        parsed = exchange.parse_order_book(body["result"], key, body["result"]["ts"], "b", "a")
        assert row[1:3] == (key, parsed["timestamp"])
        assert row[5:] == (None, "base")
        assert [list(level) for level in row[3]] == parsed["bids"]
        assert [list(level) for level in row[4]] == parsed["asks"]
    got = real.rows("select symbol, settled_ms, funding_rate, reject from stg_bybit__settlements")
    want = [
        (one["symbol"], int(one["fundingRateTimestamp"]), float(one["fundingRate"]), None)
        for _, _, body in bodies.of["settlements"]
        for one in body["result"]["list"]
    ]
    assert sorted(got) == sorted(want)
    got = real.rows("select symbol, exchange, pair, weight, reject from stg_bybit__index_components order by weight")
    assert got == [("1000BTTUSDT", "gate", "BTT_USDT", 0.1383220862762299, None),
                   ("1000BTTUSDT", "binance", "BTTCUSDT", 0.5322401401714303, None)]  # fmt: skip


def test_sizes_of_inverse_perps_are_in_dollars(warehouse: Warehouse, bodies: Bodies) -> None:
    """Real tickers: open interest is what the venue itself says in coins; dated futures are left out."""
    at = AT_MS + 80 * MINUTE
    held = json.dumps({"category": "inverse", "intervalTime": "5min"})
    bar = {"result": {"list": [["1672324800000", "100", "110", "90", "100", "5000", "51"]]}}
    event = {"T": AT_MS, "s": "BTCUSD", "S": "Buy", "v": "300", "p": "100"}
    listed = {"symbol": "BTCUSD", "contractType": "InversePerpetual", "status": "Trading", "baseCoin": "BTC",
              "quoteCoin": "USD", "settleCoin": "BTC", "launchTime": "1542326400000", "deliveryTime": "0"}  # fmt: skip
    dated = {**listed, "symbol": "BTCUSDZ26", "contractType": "InverseFutures"}
    warehouse.build(
        [
            response(at, "bybit", "perp_tickers", bodies.inverse, key="inverse"),
            response(at, "bybit", "open_interest_history", bodies.open_interest, key="BTCUSD", params=held),
            response(at, "bybit", "perp_bars", bar, key="BTCUSD", params='{"interval":"1"}'),
            response(at, "bybit", "instruments", {"result": {"list": [listed, dated]}}),
            span(at, "bybit", [{"topic": "allLiquidation.BTCUSD", "data": [event]}]),
        ],
        "raw_window",
    )
    perps = {one["symbol"]: one for one in bodies.inverse["result"]["list"] if one["deliveryTime"] == "0"}
    assert len(perps) < len(bodies.inverse["result"]["list"])
    found = warehouse.rows("select symbol, open_interest, vol24h_quote, reject from stg_bybit__perp_tickers")
    assert {row[0] for row in found} == set(perps)
    for symbol, coins, traded, reject in found:
        assert coins == pytest.approx(float(perps[symbol]["openInterestValue"]), rel=1e-4), symbol
        assert (traded, reject) == (float(perps[symbol]["volume24h"]), None)
    got = warehouse.rows("select open_interest, open_contracts, reject from stg_bybit__open_interest_history")
    assert got == [(None, float(one["openInterest"]), None) for one in bodies.open_interest["result"]["list"]]
    assert warehouse.rows("select volume, turnover from stg_bybit__perp_bars") == [(51, 5000)]
    got = warehouse.rows("select side, size, size_contracts, reject from stg_bybit__liquidations")
    assert got == [("long", None, 300, None)]
    got = warehouse.rows("select symbol, inverse, settle, reject from stg_bybit__instruments")
    assert got == [("BTCUSD", True, "BTC", None)]


def test_a_broken_body_is_one_rejected_row(warehouse: Warehouse) -> None:
    broken = (("A", '{"result":{"list":[{"symb'), ("B", "<html>"), ("C", '{"retCode":10001,"result":{}}'))
    later = AT_MS + 90 * MINUTE
    warehouse.build([response(later, "bybit", kind, body, key=key) for kind in KINDS for key, body in broken],
                    "raw_window")  # fmt: skip
    for kind in KINDS:
        found = warehouse.rows(f"select key, reject is not null from stg_bybit__{kind} order by key")
        assert found == [("A", True), ("B", True), ("C", True)], kind


async def test_the_simulator_uses_the_venues_wire_format(bodies: Bodies) -> None:
    async with sandbox(now_ms=ANCHOR_MS + 37_500) as client:

        async def asked(path: str, **params: Any) -> Any:
            return (await client.get(f"{MARKET}/{path}", category="linear", **params)).json

        ours = await asked("account-ratio", symbol="BTCUSDT", period="1h", limit=1)
        assert differences(bodies.of["long_short_accounts"][0][2], ours) == []
        ours = await asked("orderbook", symbol="BTCUSDT", limit=50)
        assert differences(bodies.of["order_books"][0][2], ours, optional={"retExtInfo"}) == []
        ours = await asked("funding/history", symbol="ETHPERP", limit=200)
        assert differences(bodies.of["settlements"][1][2], ours) == []
        inverse = {"category": "inverse", "symbol": "BTCUSD", "intervalTime": "5min", "limit": 2}
        ours = (await client.get(f"{MARKET}/open-interest", **inverse)).json
        # The single-sided field came in 2026.
        assert differences(bodies.open_interest, ours, optional={"singleOpenInterest"}) == [
            "result.nextPageCursor: text, but really empty text"
        ]
        ours = (await client.get(f"{MARKET}/tickers", category="inverse")).json
        assert differences(bodies.inverse, ours, optional=SINGLE_SIDED) == []
        ours = (await client.get(f"{MARKET}/index-price-components", indexName="1000PEPEUSDT")).json
        assert differences(COMPONENTS, ours) == ["retMsg: text, but really empty text"]


async def test_the_past_is_asked_by_time_and_cursor() -> None:
    async with sandbox(now_ms=ANCHOR_MS + 37_500) as client:
        for path, name in (("account-ratio", "period"), ("open-interest", "intervalTime")):
            asked: dict[str, Any] = {"category": "linear", "symbol": "ETHUSDT", name: "5min"}
            end = ANCHOR_MS - 3 * 365 * 86_400_000
            whole = (await client.get(f"{MARKET}/{path}", **asked, endTime=end, limit=90)).json["result"]["list"]
            assert [int(one["timestamp"]) for one in whole] == list(range(end, end - 90 * 300_000, -300_000))
            seen: list[Any] = []
            cursor = ""
            while len(seen) < 90:
                page = await client.get(f"{MARKET}/{path}", **asked, endTime=end, limit=30, cursor=cursor)
                seen += page.json["result"]["list"]
                cursor = page.json["result"]["nextPageCursor"]
            assert seen == whole
            inside = await client.get(f"{MARKET}/{path}", **asked, startTime=end - 600_000, endTime=end)
            assert inside.json["result"]["list"] == whole[:3]
            assert inside.json["result"]["nextPageCursor"] == ""
        asked = {"category": "linear", "symbol": "ETHUSDT"}
        paid = (await client.get(f"{MARKET}/funding/history", **asked, endTime=end)).json["result"]["list"]
        assert len(paid) == 200
        times = [int(one["fundingRateTimestamp"]) for one in paid]
        assert times == sorted(times, reverse=True)
        assert all(at % (8 * HOUR) == 0 and at <= end for at in times)
        alone = (await client.get(f"{MARKET}/funding/history", **asked, startTime=end)).json
        assert alone["retCode"] == 10001


def test_what_is_asked_in_turn_and_of_the_highest_open_interest(first_minute: FirstMinute) -> None:
    rows, world, warehouse = first_minute.rows["bybit"], first_minute.world, first_minute.warehouse
    asked = {endpoint.name: sum(row["endpoint"] == endpoint.name for row in rows) for endpoint in BYBIT.endpoints}
    state, universe = world.minute(NOW_MS // MINUTE), world.universe
    perps = [row for row in universe.rows("bybit", "perp").tolist() if state.listed[row]]
    names = {row: universe.listings[row].symbol for row in perps}
    assert asked["long_short_accounts"] == 50 + -(-(len(perps) - 50) * 300 // 3600)
    assert asked["settlements"] == -(-len(perps) * 300 // 3600)
    held = {names[row]: float(state.oi[row] * state.mark[row]) for row in perps if names[row].endswith("USDT")}
    books = warehouse.rows("select symbol, bids, asks from stg_bybit__order_books")
    assert {book[0] for book in books} == set(sorted(held, key=lambda symbol: -held[symbol])[:20])
    assert {(len(bids), len(asks)) for _, bids, asks in books} == {(500, 500)}
    found = warehouse.rows("select count(*), list(distinct period_ms) from stg_bybit__long_short_accounts")
    assert found == [(asked["long_short_accounts"] * 100, [300_000])]
    assert warehouse.rows("select count(distinct symbol) from stg_bybit__index_components") == [
        (asked["index_components"],)]  # fmt: skip


def at_eight(text: str, form: str) -> int:
    return int(datetime.strptime(f"{text} 08 +0000", f"{form} %H %z").timestamp() * 1000)


def test_option_bodies_of_the_documents_are_read(tmp_path: Path, recordings: Path) -> None:
    ticker = sample(recordings / "bybit", "GetOptionTickers.txt")
    suffixed = ticker["result"]["list"][0] | {"symbol": "ETH-27MAR26-1234.5-P-USDT", "bid1Iv": "0.51"}
    rows = [response(AT_MS, "bybit", "option_tickers", ticker, key="BTC")]
    rows.append(response(AT_MS, "bybit", "option_tickers", {"result": {"list": [suffixed]}}, key="ETH"))
    later = AT_MS + MINUTE
    rows.append(response(later, "bybit", "option_tickers", "<html>", key="BTC"))
    warehouse = seeded(tmp_path)
    warehouse.build(rows, "raw_window")
    for view in ("stg_bybit__option_tickers", "stg_bybit__option_index"):
        assert warehouse.rows(f"select distinct tick_ms from {view} where reject is not null") == [(later,)], view
    columns = """instrument, coin, expiry_ms, strike, option_type, mark_iv, bid_iv, ask_iv, forward, mark_price_coins,
                 open_interest_coins, volume_coins"""
    query = f"select {columns} from stg_bybit__option_tickers where reject is null order by all"
    expiry = at_eight("30DEC22", "%d%b%y")
    assert warehouse.rows(query) == [
        ("BTC-30DEC22-18000-C", "BTC", expiry, 18_000, "call", 0.7567, None, 5, 16590.42,
         pytest.approx(9e-8 / 16590.42), 6.3, 0.15),
        ("ETH-27MAR26-1234.5-P-USDT", "ETH", at_eight("27MAR26", "%d%b%y"), 1234.5, "put", 0.7567, 0.51, 5, 16590.42,
         pytest.approx(9e-8 / 16590.42), 6.3, 0.15),
    ]  # fmt: skip
    index = "select coin, index_price, ts from stg_bybit__option_index where reject is null order by coin"
    assert warehouse.rows(index) == [("BTC", 16600.55, 1672376592395), ("ETH", 16600.55, None)]


async def test_simulated_options_respond_like_the_venue(recordings: Path) -> None:
    async with sandbox(now_ms=NOW_MS) as client:
        real = sample(recordings / "bybit", "GetOptionTickers.txt")
        path = "/api.bybit.com/v5/market/tickers"
        ours = (await client.get(path, category="option", baseCoin="BTC")).json
        real["retMsg"] = "OK"
        tiny = {"markPrice", "delta", "gamma", "vega", "theta", "totalTurnover", "change24h"}
        assert differences(real, ours, unscaled=tiny) == []
        assert (await client.get(path, category="option")).json["retCode"] == 10001
        one = ours["result"]["list"][5]["symbol"]
        assert len((await client.get(path, category="option", symbol=one)).json["result"]["list"]) == 1
