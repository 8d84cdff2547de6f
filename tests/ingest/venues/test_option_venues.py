"""Options of Binance and Bybit: staging of the documented bodies, the simulators, and a recorded minute."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from sandbox.derived.chain import Chain, chain
from sandbox.market.listing import ANCHOR_MS
from sandbox.venues.binance import options as binance_options
from sandbox.venues.bybit import options as bybit_options
from tests.ingest.venues.conftest import NOW_MS, FirstMinute
from tests.support.pipeline.warehouse import MINUTE, Warehouse, response, seeded
from tests.support.recordings.captures import sample
from tests.support.recordings.conformance import differences
from tests.support.servers.sandbox_client import sandbox

TICK = 1_790_000_000_000 // MINUTE * MINUTE
NOW = ANCHOR_MS + 7 * 3_600_000 + 2_500
# Examples of the documents (https://developers.binance.com/docs/derivatives/options-trading/market-data), shortened: no
# body was recorded.
BINANCE_BODIES: dict[str, Any] = {
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
VIEWS = [f"stg_binance__{kind}" for kind in BINANCE_BODIES] + ["stg_bybit__option_tickers", "stg_bybit__option_index"]


def at_eight(text: str, form: str) -> int:
    return int(datetime.strptime(f"{text} 08 +0000", f"{form} %H %z").timestamp() * 1000)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return seeded(tmp_path_factory.mktemp("options"))


def test_the_documents_bodies_are_read(warehouse: Warehouse, recordings: Path) -> None:
    keys = {"option_open_interest": "ETH-221119", "option_index": "BTCUSDT"}
    rows = [response(TICK, "binance", kind, body, key=keys.get(kind, "")) for kind, body in BINANCE_BODIES.items()]
    ticker = sample(recordings / "bybit", "GetOptionTickers.txt")
    suffixed = ticker["result"]["list"][0] | {"symbol": "ETH-27MAR26-1234.5-P-USDT", "bid1Iv": "0.51"}
    rows.append(response(TICK, "bybit", "option_tickers", ticker, key="BTC"))
    rows.append(response(TICK, "bybit", "option_tickers", {"result": {"list": [suffixed]}}, key="ETH"))
    later = TICK + MINUTE
    for kind in BINANCE_BODIES:
        rows.append(response(later, "binance", kind, '[{"symbol": "BT', key="x"))
    rows.append(response(later, "bybit", "option_tickers", "<html>", key="BTC"))
    warehouse.build(rows, "raw_window")
    for view in VIEWS:
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
    columns += ", open_interest_coins, volume_coins"
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


async def test_the_simulators_use_the_venues_wire_formats(recordings: Path) -> None:
    async with sandbox(now_ms=NOW) as client:
        eapi = "/eapi.binance.com/eapi/v1"
        info = (await client.get(f"{eapi}/exchangeInfo")).json
        assert differences(BINANCE_BODIES["option_instruments"], info) == []
        assert differences(BINANCE_BODIES["option_tickers"], (await client.get(f"{eapi}/mark")).json) == []
        assert differences(BINANCE_BODIES["option_volumes"], (await client.get(f"{eapi}/ticker")).json) == []
        day = info["optionSymbols"][0]["symbol"].split("-")[1]
        held = (await client.get(f"{eapi}/openInterest", underlyingAsset="ETH", expiration=day)).json
        assert differences(BINANCE_BODIES["option_open_interest"], held) == []
        assert differences(BINANCE_BODIES["option_index"],
                           (await client.get(f"{eapi}/index", underlying="ETHUSDT")).json) == []  # fmt: skip
        assert (await client.get(f"{eapi}/openInterest", underlyingAsset="ETH")).status == 400
        assert (await client.get(f"{eapi}/openInterest", underlyingAsset="ETH", expiration="200101")).status == 400
        real = sample(recordings / "bybit", "GetOptionTickers.txt")
        path = "/api.bybit.com/v5/market/tickers"
        ours = (await client.get(path, category="option", baseCoin="BTC")).json
        real["retMsg"] = "OK"
        tiny = {"markPrice", "delta", "gamma", "vega", "theta", "totalTurnover", "change24h"}
        assert differences(real, ours, unscaled=tiny) == []
        assert (await client.get(path, category="option")).json["retCode"] == 10001
        one = ours["result"]["list"][5]["symbol"]
        assert len((await client.get(path, category="option", symbol=one)).json["result"]["list"]) == 1


def truth(true: Chain, names: list[str]) -> dict[str, tuple[Any, ...]]:
    columns = (true.expiry_ms, true.strike, true.call, true.mark_iv, true.forward, true.price, true.open_interest,
               true.volume_24h, true.bid_iv)  # fmt: skip
    return dict(zip(names, zip(*(column.tolist() for column in columns), strict=True), strict=True))


def test_a_recorded_chain_is_the_worlds(first_minute: FirstMinute) -> None:
    warehouse, world = first_minute.warehouse, first_minute.world
    minute = NOW_MS // MINUTE
    for coin in ("BTC", "ETH"):
        for venue, module in (("binance", binance_options), ("bybit", bybit_options)):
            true = chain(world, venue, coin, minute, module.HELD[coin])
            expected = truth(true, module.instruments(true))
            found = warehouse.rows(
                f"""select instrument, expiry_ms, strike, option_type, mark_iv, bid_iv, forward, mark_price_coins
                    from stg_{venue}__option_tickers where coin = '{coin}'"""
            )
            assert {row[0] for row in found} == set(expected)
            for name, expiry, strike, kind, iv, bid_iv, forward, coins in found:
                reported = expected[name]
                assert (expiry, strike, kind) == (reported[0], reported[1], "call" if reported[2] else "put")
                assert iv == pytest.approx(reported[3], abs=6e-5)
                assert forward == pytest.approx(reported[4], abs=0.002)
                assert coins * forward == pytest.approx(max(reported[5], 0), abs=0.11)
                assert bid_iv is None or bid_iv == pytest.approx(reported[8], abs=6e-5)
            index = f"select index_price from stg_{venue}__option_index where coin = '{coin}'"
            assert warehouse.rows(index) == [(pytest.approx(true.index, abs=1e-7),)]
            source = f"stg_{venue}__option_" + ("open_interest" if venue == "binance" else "tickers")
            held = dict(warehouse.rows(f"select instrument, open_interest_coins from {source}"))
            assert {name: held[name] for name in expected} == pytest.approx(
                {name: reported[6] for name, reported in expected.items()}, abs=0.006
            )
            source = f"stg_{venue}__option_" + ("volumes" if venue == "binance" else "tickers")
            traded = dict(warehouse.rows(f"select instrument, volume_coins from {source}"))
            assert {name: traded[name] for name in expected} == pytest.approx(
                {name: reported[7] for name, reported in expected.items()}, abs=0.006
            )
    listed = "select count(*) from stg_binance__option_instruments as i anti join stg_binance__option_tickers as t on "
    listed += "i.instrument = t.instrument and i.expiry_ms = t.expiry_ms and i.strike = t.strike and i.coin = t.coin"
    assert warehouse.rows(listed) == [(0,)]
