"""KuCoin: what its real bodies become in staging, by two routes; its stand-in; the declaration against the stand-in."""

import json
from pathlib import Path
from typing import Any

import ccxt
import pytest

from tests.captures import logged, raw, sample
from tests.recorded import read
from tests.warehouse import MINUTE, Warehouse, response

TICK = 1_790_000_000_000 // MINUTE * MINUTE
KINDS = ("instruments", "perp_tickers", "spot_instruments", "spot_tickers", "perp_bars", "spot_bars",
         "index_components", "settlements")  # fmt: skip


class Bodies:
    """The recorded bodies of KuCoin, and the landed rows that they make: three ticks for three lists of contracts."""

    def __init__(self, recordings: Path) -> None:
        folder = recordings / "kucoin"
        endpoints = "Futures/ExchangeData"
        self.contracts = [
            read(folder / "api_v1_contracts_active.2026-09.json"),
            raw(folder, "open_interest", "unknown"),
            sample(folder, f"{endpoints}/GetOpenContracts.txt"),
        ]
        self.spot = read(folder / "spot_tickers.coinranking2021.json.gz")[0]["response"]
        self.pairs = logged(folder / "cryptofeed" / "KUCOIN.0.txt.gz", "https://api.kucoin.com/api/v1/symbols")
        self.candles = sample(folder, f"{endpoints}/GetKlines.txt")
        self.spot_candles = sample(folder, "Spot/ExchangeData/GetKlines.txt")
        # A pushed candle has the seven values of a REST one.
        self.week = raw(folder, "candlestick", "spot")["data"]["candles"]
        self.index = sample(folder, f"{endpoints}/GetIndexList.txt")
        self.settled = sample(folder, f"{endpoints}/GetFundingRateHistory.txt")

    def rows(self) -> list[dict[str, Any]]:
        minute, spot_minute = json.dumps({"granularity": 1}), json.dumps({"type": "1min"})
        return [
            *(response(TICK + n * MINUTE, "kucoin", "perp_tickers", body) for n, body in enumerate(self.contracts)),
            response(TICK, "kucoin", "spot_tickers", self.spot),
            response(TICK, "kucoin", "spot_instruments", self.pairs),
            response(TICK, "kucoin", "perp_bars", self.candles, key="XBTUSDM", params=minute),
            response(TICK, "kucoin", "spot_bars", self.spot_candles, key="ETH-BTC", params=spot_minute),
            response(TICK, "kucoin", "spot_bars", {"code": "200000", "data": [self.week]}, key="BTC-USDT",
                     params=spot_minute),
            response(TICK, "kucoin", "index_components", self.index, key="XBTUSDM .KXBT"),
            response(TICK, "kucoin", "settlements", self.settled, key="IDUSDTM"),
            response(TICK, "kucoin", "settlements", {"code": "200000", "data": None}, key="NEWUSDTM"),
        ]  # fmt: skip


@pytest.fixture(scope="module")
def bodies(recordings: Path) -> Bodies:
    return Bodies(recordings)


@pytest.fixture(scope="module")
def staged(bodies: Bodies, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    warehouse = Warehouse(tmp_path_factory.mktemp("kucoin")).create()
    warehouse.build(bodies.rows(), "raw_window", "path:models/staging/kucoin")
    return warehouse


def test_every_number_of_a_contract_is_the_bodys(bodies: Bodies, staged: Warehouse) -> None:
    """One body, two views; by hand what the venue's page says of each field."""
    state, contracts = {}, {}
    for n, body in enumerate(bodies.contracts):
        for row in body["data"]:
            key = (TICK + n * MINUTE, row["symbol"])
            granularity = row.get("currentFundingRateGranularity") or row.get("fundingRateGranularity")
            hours = granularity / 3_600_000 if granularity else None
            volume = row["volumeOf24h"] if row["isInverse"] else row["turnoverOf24h"]
            state[key] = (
                row["lastTradePrice"], row["markPrice"], row["indexPrice"], volume, int(row["openInterest"]),
                row["fundingFeeRate"], hours, row.get("nextFundingRateDateTime"), None,
            )  # fmt: skip
            contracts[key] = (
                row["baseCurrency"], row["quoteCurrency"], row["settleCurrency"], "trading", row["firstOpenDate"],
                abs(row["multiplier"]), row["isInverse"], hours, None,
            )  # fmt: skip
    columns = "last_price, mark_price, index_price, vol24h_quote, open_contracts, funding_rate, interval_h"
    rows = staged.rows(f"select tick_ms, symbol, {columns}, next_funding_ms, reject from stg_kucoin__perp_tickers")
    assert {row[:2]: row[2:] for row in rows} == state
    columns = "base_raw, quote, settle, status, listed_ms, contract_size, inverse, interval_h, reject"
    rows = staged.rows(f"select tick_ms, symbol, {columns} from stg_kucoin__instruments")
    assert {row[:2]: row[2:] for row in rows} == contracts
    assert len(rows) == 5


def test_units_hang_together(bodies: Bodies, staged: Warehouse) -> None:
    """Turnover over volume is a price near the last one, both ways round for the inverse contract; OI is sensible."""
    for body in bodies.contracts:
        for row in body["data"]:
            price = row["turnoverOf24h"] / row["volumeOf24h"]
            assert (1 / price if row["isInverse"] else price) == pytest.approx(row["lastTradePrice"], rel=0.06)
    usd = "select t.symbol, t.open_contracts * i.contract_size * case when i.inverse then 1 else t.mark_price end"
    join = "from stg_kucoin__perp_tickers as t join stg_kucoin__instruments as i using (tick_ms, symbol)"
    rows = staged.rows(f"{usd}, i.inverse {join} order by 2")
    assert [row[0] for row in rows if row[2]] == ["XBTUSDM"]
    assert all(30e6 < row[1] < 2e9 for row in rows)


def test_spot_pairs_and_tickers_are_the_bodys(bodies: Bodies, staged: Warehouse) -> None:
    exchange = ccxt.kucoin()
    expected = {}
    for row in bodies.spot["data"]["ticker"]:
        parsed = exchange.parse_spot_or_uta_ticker(row)
        expected[row["symbol"]] = (parsed["last"], parsed["quoteVolume"], None)
    rows = staged.rows("select symbol, last_price, vol24h_quote, reject from stg_kucoin__spot_tickers")
    assert {row[0]: row[1:] for row in rows} == expected
    assert len(rows) == 464
    pairs = {
        row["symbol"]: (
            row["baseCurrency"],
            row["quoteCurrency"],
            "trading" if row["enableTrading"] else "halted",
            None,
        )
        for row in bodies.pairs["data"]
    }
    rows = staged.rows("select symbol, base_raw, quote, status, reject from stg_kucoin__spot_instruments")
    assert {row[0]: row[1:] for row in rows} == pairs
    assert len(rows) == 634


def test_candles_are_the_bodys(bodies: Bodies, staged: Warehouse) -> None:
    spot, futures = ccxt.kucoin(), ccxt.kucoinfutures()
    prices = "opened_ms, open, high, low, close"
    parsed = [tuple(futures.parse_ohlcv(row, {"contract": True})) for row in bodies.candles["data"]]
    rows = staged.rows(f"select {prices}, volume_contracts, reject from stg_kucoin__perp_bars order by 1")
    # The recorded sample writes the quiet bars' volume as 0.
    assert rows == [(*row, None) for row in parsed]
    for symbol, body in (("ETH-BTC", bodies.spot_candles["data"]), ("BTC-USDT", [bodies.week])):
        query = f"select {prices}, volume, turnover, closed_ms - opened_ms, reject from stg_kucoin__spot_bars"
        rows = staged.rows(f"{query} where symbol = ? order by 1 desc", [symbol])
        parsed = [(*spot.parse_ohlcv(row, {"spot": True}), float(row[6]), 59_999, None) for row in body]
        assert rows == parsed


def test_components_and_settlements_are_the_bodys(bodies: Bodies, staged: Warehouse) -> None:
    legs = bodies.index["data"]["dataList"][0]["decomposionList"]
    rows = staged.rows("select symbol, exchange, pair, weight, reject from stg_kucoin__index_components order by 2")
    assert rows == [("XBTUSDM", leg["exchange"], None, leg["weight"], None) for leg in sorted(
        legs, key=lambda leg: leg["exchange"])]  # fmt: skip
    assert sum(row[3] for row in rows) == pytest.approx(1, abs=1e-6)
    parsed = ccxt.kucoinfutures().parse_funding_rate_history(bodies.settled["data"][0])
    rows = staged.rows("select symbol, settled_ms, funding_rate, reject from stg_kucoin__settlements")
    assert rows == [("IDUSDTM", parsed["timestamp"], parsed["fundingRate"], None)]


def test_no_row_of_a_real_body_is_rejected(staged: Warehouse) -> None:
    for kind in KINDS:
        assert staged.rows(f"select * from stg_kucoin__{kind} where reject is not null") == [], kind


def test_a_refusal_and_a_broken_body_are_one_unreadable_row_each(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path).create()
    refusal = {"code": "400100", "msg": "symbol parameter invalid"}
    rows = [
        response(TICK, "kucoin", "settlements", refusal, key="XBTUSDTM"),
        response(TICK, "kucoin", "perp_bars", '{"code":"200000","data":[[15753312', key="XBTUSDTM"),
        response(TICK, "kucoin", "perp_tickers", {"code": "200000", "data": []}),
    ]
    warehouse.build(rows, "raw_window", "path:models/staging/kucoin")
    for kind in ("settlements", "perp_bars", "perp_tickers", "instruments"):
        assert warehouse.rows(f"select reject from stg_kucoin__{kind}") == [("unreadable",)], kind
