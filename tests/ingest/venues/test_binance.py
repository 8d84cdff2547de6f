"""Binance: its statistics, books, index constituents, settlements and options, as sent, as simulated, as recorded."""

import json
import math
from datetime import datetime
from pathlib import Path
from typing import Any

import ccxt
import pytest

from ingest.venues.binance import BINANCE
from sandbox.market.listing import ANCHOR_MS
from tests.ingest.venues.conftest import NOW_MS, FirstMinute
from tests.support.pipeline.warehouse import MINUTE, Warehouse, response, seeded, span
from tests.support.recordings.captures import sample
from tests.support.recordings.conformance import differences
from tests.support.recordings.recorded import kept
from tests.support.servers.sandbox_client import sandbox

AT_MS = 1_790_000_000_000 // MINUTE * MINUTE
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
# Examples of the documents (https://developers.binance.com/docs/derivatives/options-trading/market-data), shortened: no
# body was recorded.
OPTION_BODIES: dict[str, Any] = {
    "option_tickers": [
        {"symbol": "BTC-200730-9000-C", "markPrice": "1343.2883", "bidIV": "1.40000077", "askIV": "1.50000153",
         "markIV": "1.45000000", "delta": "0.55937056", "theta": "3739.82509871", "gamma": "0.00010969",
         "vega": "978.58874732", "highPriceLimit": "1618.241", "lowPriceLimit": "1068.3356",
         "riskFreeInterest": "0.1"},
        {"symbol": "BTC-251120-126000-P", "markPrice": "770.543", "bidIV": "-1.0", "askIV": "0.98161161",
         "markIV": "0.9408058", "delta": "0.11111964", "theta": "-164.26702615", "gamma": "0.00001245",
         "vega": "30.63855919", "highPriceLimit": "924.652", "lowPriceLimit": "616.435", "riskFreeInterest": "0.0"},
    ],
    "option_volumes": [
        {"symbol": "BTC-200730-9000-C", "priceChange": "-16.2038", "priceChangePercent": "-0.0162",
         "lastPrice": "1000", "lastQty": "1000", "open": "1016.2038", "high": "1016.2038", "low": "0", "volume": "5",
         "amount": "1", "bidPrice": "999.34", "askPrice": "1000.23", "openTime": 1592317127349,
         "closeTime": 1592380593516, "firstTradeId": 1, "tradeCount": 5, "strikePrice": "9000",
         "exercisePrice": "3000.3356"}
    ],
    "option_open_interest": [
        {"symbol": "ETH-221119-1175-P", "sumOpenInterest": "4.01", "sumOpenInterestUsd": "4880.2985615624",
         "timestamp": "1668754020000"}
    ],
    "option_index": {"time": 1656647305000, "indexPrice": "9200"},
    "option_instruments": {
        "timezone": "UTC", "serverTime": 1592387156596,
        "optionContracts": [{"baseAsset": "BTC", "quoteAsset": "USDT", "underlying": "BTCUSDT",
                             "settleAsset": "USDT"}],
        "optionAssets": [{"name": "USDT"}],
        "optionSymbols": [
            {"expiryDate": 1660521600000, "filters": [
                {"filterType": "PRICE_FILTER", "minPrice": "0.02", "maxPrice": "80000.01", "tickSize": "0.01"},
                {"filterType": "LOT_SIZE", "minQty": "0.01", "maxQty": "100", "stepSize": "0.01"}],
             "symbol": "BTC-220815-50000-C", "side": "CALL", "strikePrice": "50000", "underlying": "BTCUSDT",
             "unit": 1, "liquidationFeeRate": "0.0019000", "minQty": "0.01", "maxQty": "100",
             "initialMargin": "0.15", "maintenanceMargin": "0.075", "minInitialMargin": "0.1",
             "minMaintenanceMargin": "0.05", "priceScale": 2, "quantityScale": 2, "quoteAsset": "USDT"}],
        "rateLimits": [{"rateLimitType": "REQUEST_WEIGHT", "interval": "MINUTE", "intervalNum": 1, "limit": 2400}],
    },
}  # fmt: skip


COIN_M_FILES = {"instruments": "exchangeInfo", "perp_tickers": "ticker_24hr", "funding": "premiumIndex",
                "open_interest": "openInterest", "perp_bars": "klines", "settlements": "fundingRate"}  # fmt: skip
COIN_M_ASKED: dict[str, dict[str, str]] = {
    "instruments": {}, "perp_tickers": {}, "funding": {"symbol": "BTCUSD_PERP"},
    "open_interest": {"symbol": "BTCUSD_PERP"}, "perp_bars": {"symbol": "BTCUSD_PERP", "interval": "1d"},
    "settlements": {"symbol": "BTCUSD_PERP"},
}  # fmt: skip


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
    """All recorded bodies, each in a minute of its own."""
    rows = [response(AT_MS, "binance", "index_components", constituents(recordings), key="BTCUSDT")]
    for kind in FILES:
        for n, (params, body) in enumerate(bodies(recordings, kind)):
            key = "" if kind == "settlements" else params["symbol"]
            rows.append(response(AT_MS + n * MINUTE, "binance", kind, body, key=key, params=json.dumps(params)))
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
                # Their timestamps, of before 2026-06-25, are the ends of the buckets.
                period = PERIODS[params["period"]]
                want[AT_MS + n * MINUTE, params["symbol"], parsed["timestamp"] - period, period] = share
        assert {row[:4] for row in got} == set(want)
        assert len(got) == len(want)
        assert all(row[5] is None and math.isclose(row[4], want[row[:4]], abs_tol=1e-4) for row in got)


def test_every_recorded_taker_volume_is_read(real: Warehouse, recordings: Path) -> None:
    ((_, body),) = bodies(recordings, "taker_ratio")
    got = real.rows("select symbol, t, period_ms, taker_buy, taker_sell, unit from stg_binance__taker_ratio")
    want = [
        ("BTCUSDT", one["timestamp"] - 300_000, 300_000, float(one["buyVol"]), float(one["sellVol"]), "base")
        for one in body
    ]
    assert sorted(got) == sorted(want)
    ratios = {one["timestamp"] - 300_000: float(one["buySellRatio"]) for one in body}
    assert all(math.isclose(row[3] / row[4], ratios[row[1]], abs_tol=1e-4) for row in got)


def test_every_recorded_book_is_read(real: Warehouse, recordings: Path) -> None:
    exchange = ccxt.binanceusdm()
    got = {row[0]: row[1:] for row in real.rows("select tick_ms, symbol, ts, bids, asks, reject from "
                                                "stg_binance__order_books")}  # fmt: skip
    want = bodies(recordings, "order_books")
    assert len(got) == len(want) == 3
    for n, (params, body) in enumerate(want):
        parsed = exchange.parse_order_book(body, params["symbol"], body["T"])
        symbol, ts, bids, asks, reject = got[AT_MS + n * MINUTE]
        assert (symbol, ts, reject) == (params["symbol"], parsed["timestamp"], None)
        assert [list(level) for level in bids] == parsed["bids"]
        assert [list(level) for level in asks] == parsed["asks"]


def test_every_recorded_settlement_and_constituent_is_read(real: Warehouse, recordings: Path) -> None:
    got = real.rows("select tick_ms, symbol, settled_ms, funding_rate, reject from stg_binance__settlements")
    want = [
        (AT_MS + n * MINUTE, one["symbol"], one["fundingTime"], float(one["fundingRate"]), None)
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


def test_coin_margined_perps_are_in_contracts_and_coins(warehouse: Warehouse, recordings: Path) -> None:
    """Real bodies of COIN-M: a contract is worth 100 USD (BTC) or 10 USD, and dated futures are left out."""
    folder, at = recordings / "binance", AT_MS + 80 * MINUTE
    of = {kind: dict(kept(folder / f"dapi_v1_{file}.gct.json")) for kind, file in COIN_M_FILES.items()}
    perp = "symbol=BTCUSD_PERP"
    bars = next(body for query, body in of["perp_bars"].items() if "interval=1d" in query and perp in query)
    paid = of["settlements"][f"limit=5&{perp}"]
    [listed], [held] = of["instruments"].values(), of["open_interest"].values()
    tickers, marks = of["perp_tickers"][""], of["funding"][""]
    # The recorded tickers are of 2021: those that closed a day before they arrived are out of date.
    now = [{**one, "closeTime": at} for one in tickers]
    names = {"pair": "BTCUSD", "timestamp": AT_MS}
    shares = [{**names, "longShortRatio": "1.5", "longPosition": "0.6", "shortPosition": "0.4"}]
    taken = [{**names, "takerBuyVol": "7", "takerSellVol": "3", "takerBuyVolValue": "0.1", "takerSellVolValue": "0.04"}]
    past = [{**names, "sumOpenInterest": "20", "sumOpenInterestValue": "0.1", "contractType": "PERPETUAL"}]
    key, period = "BTCUSD_PERP", '{"period":"1h"}'
    order = {"s": key, "S": "SELL", "z": "12", "ap": "50000", "T": at}
    events = [{"e": "forceOrder", "st": 2, "o": {**order, "s": symbol}} for symbol in (key, "BTCUSD_261225")]
    warehouse.build(
        [
            response(at, "binance", "instruments", listed, key="COIN-M"),
            response(at, "binance", "perp_tickers", now, key="COIN-M"),
            response(at, "binance", "funding", marks, key="COIN-M"),
            response(at, "binance", "open_interest", held, key=key),
            response(at, "binance", "perp_bars", bars, key=key),
            response(at, "binance", "settlements", paid, key=key),
            response(at, "binance", "long_short_top_positions", shares, key=key, params=period),
            response(at, "binance", "taker_ratio", taken, key=key, params=period),
            response(at, "binance", "open_interest_history", past, key=key, params=period),
            span(at, "binance", events),
        ],
        "raw_window",
    )

    def rows(kind: str, columns: str) -> list[tuple[Any, ...]]:
        found = warehouse.rows(f"select {columns}, reject from stg_binance__{kind} order by all")
        assert {row[-1] for row in found} == {None}, kind
        return [row[:-1] for row in found]

    perps = [one for one in listed["symbols"] if one["symbol"].endswith("_PERP")]
    assert len(perps) == 25
    got = rows("instruments", "symbol, contract_size, inverse, settle, status = 'trading'")
    assert got == sorted(
        (one["symbol"], float(one["contractSize"]), True, one["baseAsset"], one["contractStatus"] == "TRADING")
        for one in perps
    )
    sizes = {one["symbol"]: one["contractSize"] for one in perps}
    for symbol, traded in rows("perp_tickers", "symbol, vol24h_quote"):
        [one] = [one for one in tickers if one["symbol"] == symbol]
        assert traded == pytest.approx(int(one["volume"]) * sizes[symbol], rel=1e-6), symbol
    assert {row[0] for row in rows("funding", "symbol")} == {one["symbol"] for one in marks if one["nextFundingTime"]}
    assert rows("open_interest", "symbol, open_interest, open_contracts") == [(key, None, float(held["openInterest"]))]
    got = rows("perp_bars", "opened_ms, volume, volume_contracts, turnover, taker_buy_turnover, taker_buy_contracts")
    assert got == [(bar[0], float(bar[7]), float(bar[5]), None, None, float(bar[9])) for bar in bars]
    assert rows("settlements", "symbol, settled_ms, funding_rate") == [
        (key, one["fundingTime"], float(one["fundingRate"])) for one in paid
    ]
    assert rows("long_short_top_positions", "symbol, long_fraction") == [(key, 0.6)]
    assert rows("taker_ratio", "symbol, taker_buy, taker_sell, unit") == [(key, 7, 3, "contracts")]
    assert rows("open_interest_history", "symbol, open_interest, open_contracts, open_interest_usd") == [
        (key, 0.1, 20, None)
    ]
    assert rows("liquidations", "symbol, side, size, size_contracts, price") == [(key, "long", None, 12, 50000)]


async def test_the_simulated_coin_margined_perps_use_the_venues_wire_format(recordings: Path) -> None:
    folder = recordings / "binance"
    async with sandbox(now_ms=ANCHOR_MS + 37_500) as client:
        for kind, asked in COIN_M_ASKED.items():
            real = next(body for query, body in kept(folder / f"dapi_v1_{COIN_M_FILES[kind]}.gct.json")
                        if all(f"{name}={value}" in query for name, value in asked.items()))  # fmt: skip
            path = f"/dapi.binance.com/dapi/v1/{COIN_M_FILES[kind].replace('ticker_', 'ticker/')}"
            ours = (await client.get(path, **asked)).json
            assert differences(real, ours) == [], kind


def test_a_broken_body_is_one_rejected_row(warehouse: Warehouse) -> None:
    kinds = (*FILES, "index_components")
    later = AT_MS + 90 * MINUTE
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
            assert newest[-1]["timestamp"] == ANCHOR_MS - 300_000
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
    got = warehouse.rows("select count(*) from stg_binance__settlements group by ends_with(symbol, '_PERP') order by 1")
    assert got == [(110,), (1000,)], "the newest of USD-M, and ten of each COIN-M perp"
    assert warehouse.rows("select count(distinct symbol) from stg_binance__index_components") == [
        (asked["index_components"],)]  # fmt: skip


def at_eight(text: str, form: str) -> int:
    return int(datetime.strptime(f"{text} 08 +0000", f"{form} %H %z").timestamp() * 1000)


def test_option_bodies_of_the_documents_are_read(tmp_path: Path) -> None:
    keys = {"option_open_interest": "ETH-221119", "option_index": "BTCUSDT"}
    rows = [response(AT_MS, "binance", kind, body, key=keys.get(kind, "")) for kind, body in OPTION_BODIES.items()]
    later = AT_MS + MINUTE
    for kind in OPTION_BODIES:
        rows.append(response(later, "binance", kind, '[{"symbol": "BT', key="x"))
    warehouse = seeded(tmp_path)
    warehouse.build(rows, "raw_window")
    for kind in OPTION_BODIES:
        view = f"stg_binance__{kind}"
        assert warehouse.rows(f"select distinct tick_ms from {view} where reject is not null") == [(later,)], view
    columns = "instrument, coin, expiry_ms, strike, option_type, mark_iv, bid_iv, ask_iv, forward, mark_price_coins"
    query = f"select {columns} from stg_binance__option_tickers where reject is null order by all"
    assert warehouse.rows(query) == [
        ("BTC-200730-9000-C", "BTC", at_eight("200730", "%y%m%d"), 9000, "call", 1.45, 1.40000077, 1.50000153,
         None, None),
        ("BTC-251120-126000-P", "BTC", at_eight("251120", "%y%m%d"), 126_000, "put", 0.9408058, None, 0.98161161,
         None, None),
    ]  # fmt: skip
    read = "select {} from stg_binance__{} where reject is null"
    held = warehouse.rows(read.format("instrument, open_interest_coins, open_contracts", "option_open_interest"))
    assert held == [("ETH-221119-1175-P", 4.01, 4.01)]
    traded = warehouse.rows(read.format("instrument, volume_coins, volume_usd", "option_volumes"))
    assert traded == [("BTC-200730-9000-C", 5, 1)]
    assert warehouse.rows(read.format("coin, index_price, ts", "option_index")) == [("BTC", 9200, 1656647305000)]
    names = "instrument, coin, expiry_ms, strike, option_type, contract_size, settle, status"
    assert warehouse.rows(read.format(names, "option_instruments")) == [
        ("BTC-220815-50000-C", "BTC", 1660521600000, 50_000, "call", 1, "USDT", "trading")
    ]


async def test_simulated_options_respond_like_the_venue() -> None:
    async with sandbox(now_ms=NOW_MS) as client:
        eapi = "/eapi.binance.com/eapi/v1"
        info = (await client.get(f"{eapi}/exchangeInfo")).json
        assert differences(OPTION_BODIES["option_instruments"], info) == []
        assert differences(OPTION_BODIES["option_tickers"], (await client.get(f"{eapi}/mark")).json) == []
        assert differences(OPTION_BODIES["option_volumes"], (await client.get(f"{eapi}/ticker")).json) == []
        day = info["optionSymbols"][0]["symbol"].split("-")[1]
        held = (await client.get(f"{eapi}/openInterest", underlyingAsset="ETH", expiration=day)).json
        assert differences(OPTION_BODIES["option_open_interest"], held) == []
        assert differences(OPTION_BODIES["option_index"],
                           (await client.get(f"{eapi}/index", underlying="ETHUSDT")).json) == []  # fmt: skip
        assert (await client.get(f"{eapi}/openInterest", underlyingAsset="ETH")).status == 400
        assert (await client.get(f"{eapi}/openInterest", underlyingAsset="ETH", expiration="200101")).status == 400


def test_every_option_with_a_price_is_listed(first_minute: FirstMinute) -> None:
    warehouse = first_minute.warehouse
    listed = "select count(*) from stg_binance__option_instruments as i anti join stg_binance__option_tickers as t on "
    listed += "i.instrument = t.instrument and i.expiry_ms = t.expiry_ms and i.strike = t.strike and i.coin = t.coin"
    assert warehouse.rows(listed) == [(0,)]
