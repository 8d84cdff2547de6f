"""KuCoin: staging of real bodies, checked by two independent computations; the simulator; the declaration against
it."""

import asyncio
from pathlib import Path
from typing import Any

import ccxt
import pytest

from sandbox.market.listing import ANCHOR_MS
from sandbox.wire.settlements import settlements
from tests.ingest.venues.conftest import NOW_MS, FirstMinute
from tests.support.pipeline.warehouse import MINUTE, Warehouse, response, seeded
from tests.support.recordings.conformance import differences
from tests.support.recordings.recorded_kucoin import AT_MS, Bodies
from tests.support.servers.sandbox_client import sandbox

NOW = ANCHOR_MS + 37_500
FUTURES, SPOT = "/api-futures.kucoin.com/api/v1", "/api.kucoin.com/api"
PATHS: dict[str, tuple[str, dict[str, Any]]] = {
    "active": (f"{FUTURES}/contracts/active", {}),
    "tickers": (f"{SPOT}/v1/market/allTickers", {}),
    "symbols": (f"{SPOT}/v2/symbols", {}),
    "kline": (f"{FUTURES}/kline/query", {"symbol": "XBTUSDM", "granularity": 1, "from": NOW - 300_000, "to": NOW}),
    "candles": (f"{SPOT}/v1/market/candles", {"symbol": "BTC-USDT", "type": "1min", "startAt": NOW // 1000 - 300}),
    "index": (f"{FUTURES}/index/query", {"symbol": ".KXBT", "maxCount": 1}),
    "settled": (
        f"{FUTURES}/contract/funding-rates",
        {"symbol": "XBTUSDTM", "from": NOW - 2 * 86_400_000, "to": NOW},
    ),
}
# Of the recorded rows all are of bitcoin and ether, or of 2018.
DAY_MS = 86_400_000
PRICES = {"markPrice", "indexPrice", "lastTradePrice", "lowPrice", "highPrice", "priceChg", "changePrice", "buy",
          "sell", "high", "low", "last", "averagePrice"}  # fmt: skip
VOLUMES = {"data[][5]", "data[][6]"}  # a week's
KINDS = ("instruments", "perp_tickers", "spot_instruments", "spot_tickers", "perp_bars", "spot_bars",
         "index_components", "settlements")  # fmt: skip


@pytest.fixture(scope="module")
def bodies(recordings: Path) -> Bodies:
    return Bodies(recordings)


@pytest.fixture(scope="module")
def staged(bodies: Bodies, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    warehouse = seeded(tmp_path_factory.mktemp("kucoin"))
    warehouse.build(bodies.rows(), "raw_window")
    return warehouse


def test_every_number_of_a_contract_is_the_bodys(bodies: Bodies, staged: Warehouse) -> None:
    """One body, two views; by hand what the venue's page says of each field."""
    state, contracts = {}, {}
    for n, body in enumerate(bodies.contracts):
        for row in body["data"]:
            key = (AT_MS + n * MINUTE, row["symbol"])
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
    warehouse = seeded(tmp_path)
    refusal = {"code": "400100", "msg": "symbol parameter invalid"}
    rows = [
        response(AT_MS, "kucoin", "settlements", refusal, key="XBTUSDTM"),
        response(AT_MS, "kucoin", "perp_bars", '{"code":"200000","data":[[15753312', key="XBTUSDTM"),
        response(AT_MS, "kucoin", "perp_tickers", {"code": "200000", "data": []}),
    ]
    warehouse.build(rows, "raw_window")
    for kind in ("settlements", "perp_bars", "perp_tickers", "instruments"):
        assert warehouse.rows(f"select reject from stg_kucoin__{kind}") == [("unreadable",)], kind


async def _asked() -> dict[str, Any]:
    """The simulator's bodies."""
    async with sandbox(now_ms=NOW, universe="small") as client:
        return {name: (await client.get(path, **query)).json for name, (path, query) in PATHS.items()}


def test_the_simulator_responds_like_the_venue(bodies: Bodies) -> None:
    """Every path that is asked against a body of it: keys, types, units."""
    answers = asyncio.run(_asked())
    # The body of 2026 came without the keys of risk limits, that of 2022 without what was added since.
    unscaled = {"maxRiskLimit", "minRiskLimit", "riskStep", "multiplier", "tickSize", "indexPriceTickSize",
                "maxOrderQty", *PRICES}  # fmt: skip
    real = bodies.contracts[:2]
    assert not differences(real, [answers["active"]], unscaled=unscaled)
    later = {"symbolName", "bestBidSize", "bestAskSize", "takerFeeRate", "makerFeeRate", "takerCoefficient",
             "makerCoefficient"}  # fmt: skip
    # In 2019 most pairs were quoted in bitcoin: those in dollars have the units of ours.
    theirs, mine = (
        [row for row in body["data"]["ticker"] if row["symbol"].endswith("-USDT")]
        for body in (bodies.spot, answers["tickers"])
    )
    assert not differences(theirs, mine, optional=later, unscaled={"vol"})
    assert set(answers["tickers"]["data"]) == set(bodies.spot["data"])
    assert not differences([bodies.spot_sample], [answers["tickers"]], unscaled=PRICES | {"vol", "volValue"})
    assert not differences(bodies.pairs, answers["symbols"], optional={"minFunds"}, unscaled={"priceLimitRate"})
    # The documented sample is of quiet days.
    assert not differences(bodies.candles, answers["kline"], unscaled={"data[][5]"})
    assert not differences({"code": "200000", "data": [bodies.week]}, answers["candles"], unscaled=VOLUMES)
    assert not differences(bodies.index, answers["index"])
    settled = {name: bodies.settled[name] for name in ("code", "data")}
    assert not differences(settled, answers["settled"])


def test_settlements_are_asked_two_days_back(first_minute: FirstMinute) -> None:
    """All of them since then, the newest first, with the six decimals of the venue's rates."""
    world, minute = first_minute.world, NOW_MS // MINUTE * MINUTE
    settled = first_minute.warehouse.rows(
        "select symbol, settled_ms, funding_rate from stg_kucoin__settlements order by 1, 2 desc"
    )
    assert settled
    for symbol in {line[0] for line in settled}:
        past = settlements(world, world.universe.row["kucoin", "perp", symbol], minute, 100)
        true = [(at, round(rate, 6)) for at, rate, _ in past if at >= minute - 2 * DAY_MS]
        assert [line[1:] for line in settled if line[0] == symbol] == true


def test_the_two_views_agree_on_the_interval_of_funding(first_minute: FirstMinute) -> None:
    query = """select count(*), count(*) filter (t.interval_h is distinct from i.interval_h)
               from stg_kucoin__perp_tickers as t join stg_kucoin__instruments as i using (symbol)"""
    [(count, different)] = first_minute.warehouse.rows(query)
    assert count > 0
    assert different == 0
