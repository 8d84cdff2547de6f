"""MEXC: staging of real bodies, checked by two independent computations; the simulator; a recorded minute."""

import json
from pathlib import Path
from typing import Any

import ccxt
import pytest

from ingest.venues.mexc import API, MEXC
from tests.support.pipeline.warehouse import MINUTE, Warehouse, response, seeded
from tests.support.recordings.captures import raw, sample
from tests.support.recordings.conformance import differences
from tests.support.recordings.recorded import read
from tests.support.servers.sandbox_client import sandbox

AT_MS = 1_790_870_040_000  # 2026-10-01 15:54 UTC, when the newest of the bars was closed
NOW = 1_795_000_020_000 + 7_000
CONTRACT = f"/{API}/api/v1/contract"
SPOT = f"/{API}/api/v3"


def enveloped(data: Any) -> dict[str, Any]:
    return {"success": True, "code": 0, "data": data}


def columns_of(bars: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Pushed klines as the columns of the REST answer, which names the same values."""
    names = {"time": "t", "open": "o", "close": "c", "high": "h", "low": "l", "vol": "q", "amount": "a"}
    return {name: [bar[pushed] for bar in bars] for name, pushed in names.items()}


class Bodies:
    """The recorded bodies of MEXC, and the landed rows that they make."""

    def __init__(self, recordings: Path) -> None:
        folder = recordings / "mexc"
        perp, spot = "FuturesApi/ExchangeData", "SpotApi/ExchangeData"
        self.detail = read(folder / "api_v1_contract_detail_all.2025.json.gz")
        pushed = {one["channel"]: one["data"] for one in read(folder / "ws_contract_push.2026-10.json")}
        # The stream's tickers are the REST rows with more fields.
        self.live = [pushed["push.ticker"], raw(folder, "ticker", "linear_swap")["data"]]
        self.inverse = raw(folder, "ticker", "inverse_swap")["data"]
        self.klines = {
            "BTC_USDT": [raw(folder, "candlestick", "linear_swap")["data"], pushed["push.kline"]],
            "BTC_USD": [raw(folder, "candlestick", "inverse_swap")["data"]],
        }
        self.ticker = sample(folder, f"{perp}/GetTickers.txt")
        self.funding = sample(folder, f"{perp}/GetFundingRates.txt")
        self.settled = sample(folder, f"{perp}/GetFundingRateHistory.txt")
        self.spot_tickers = sample(folder, f"{spot}/GetTickers.txt")
        self.spot_info = sample(folder, f"{spot}/GetExchangeInfo.txt")
        self.spot_klines = sample(folder, f"{spot}/GetKlines.txt")

    def rows(self) -> list[dict[str, Any]]:
        one_minute = json.dumps({"interval": "Min1"})
        return [
            response(AT_MS, "mexc", "instruments", self.detail),
            *(
                response(AT_MS + n * MINUTE, "mexc", "perp_tickers", enveloped(data))
                for n, data in enumerate(([self.live[0], self.inverse], [self.live[1]], self.ticker["data"]))
            ),
            *(
                response(AT_MS, "mexc", "perp_bars", enveloped(columns_of(bars)), key=symbol, params=one_minute)
                for symbol, bars in self.klines.items()
            ),
            response(AT_MS, "mexc", "funding", self.funding),
            response(AT_MS, "mexc", "settlements", self.settled, key="BTC_USDT"),
            response(AT_MS, "mexc", "spot_tickers", self.spot_tickers),
            response(AT_MS, "mexc", "spot_instruments", self.spot_info),
            response(AT_MS, "mexc", "spot_bars", self.spot_klines, key="BTCUSDT", params='{"interval":"1m"}'),
        ]


def reader(bodies: Bodies) -> Any:
    """ccxt, which reads the recorded lists of markets where it would ask for them."""
    exchange = ccxt.mexc()
    exchange.contractPublicGetDetail = lambda params=None: bodies.detail
    exchange.spotPublicGetExchangeInfo = lambda params=None: bodies.spot_info
    return exchange


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return seeded(tmp_path_factory.mktemp("mexc"))


@pytest.fixture(scope="module")
def built(recordings: Path, warehouse: Warehouse) -> tuple[Bodies, Warehouse]:
    bodies = Bodies(recordings)
    warehouse.build(bodies.rows(), "raw_window")
    return bodies, warehouse


def column(warehouse: Warehouse, kind: str, columns: str, where: str = "true") -> list[tuple[Any, ...]]:
    query = f"select symbol, {columns} from stg_mexc__{kind} where reject is null and {where} order by all"
    return warehouse.rows(query)


def test_every_recorded_contract_is_ccxts(built: tuple[Bodies, Warehouse]) -> None:
    bodies, warehouse = built
    exchange = reader(bodies)
    columns = "base_raw, quote, settle, contract_size, inverse, status, contract_type"
    expected = [
        (one["id"], one["baseId"], one["quoteId"], one["settleId"], one["contractSize"], one["inverse"],
         "trading" if one["active"] else None, "perpetual")
        for one in exchange.fetch_swap_markets()
    ]  # fmt: skip
    assert column(warehouse, "instruments", columns) == sorted(expected)
    assert len(expected) == 786
    times = {row[0]: row[1:] for row in column(warehouse, "instruments", "listed_ms, delisted_ms")}
    for row in bodies.detail["data"]:
        opened = row["openingTime"] or row["createTime"]
        assert times[row["symbol"]] == (opened, row.get("deliveryTime"))
    words = {row["symbol"]: [word.replace("mc-trade-zone-", "") for word in row["conceptPlate"]]
             for row in bodies.detail["data"]}  # fmt: skip
    assert dict(column(warehouse, "instruments", "category")) == words


def test_the_exchanges_of_every_index(built: tuple[Bodies, Warehouse]) -> None:
    bodies, warehouse = built
    found = column(warehouse, "index_components", "exchange, pair, weight, endpoint")
    expected = [(row["symbol"], name.lower().replace("gateio", "gate"), None, None, "instruments")
                for row in bodies.detail["data"] for name in row["indexOrigin"]]  # fmt: skip
    assert found == sorted(expected)


def test_real_tickers_are_ccxts_and_contracts_make_sense(built: tuple[Bodies, Warehouse]) -> None:
    bodies, warehouse = built
    exchange = reader(bodies)
    exchange.set_markets(exchange.fetch_swap_markets())
    columns = "last_price, mark_price, index_price, vol24h_quote, open_contracts, funding_rate"
    for minute, row in ((AT_MS, bodies.live[0]), (AT_MS + MINUTE, bodies.live[1]), (AT_MS + 2 * MINUTE, bodies.ticker)):
        row = row["data"][0] if "data" in row else row
        parsed = exchange.parse_ticker(row, exchange.market(row["symbol"]))
        expected = (row["symbol"], parsed["last"], row["fairPrice"], row["indexPrice"], parsed["quoteVolume"],
                    row["holdVol"], row["fundingRate"])  # fmt: skip
        assert column(warehouse, "perp_tickers", columns, f"tick_ms = {minute} and symbol = 'BTC_USDT'") == [expected]
    # 546,882,118 contracts of 0.0001 BTC are 54,688 BTC; the day's volume in contracts is its turnover.
    row, size = bodies.live[0], exchange.market("BTC_USDT")["contractSize"]
    assert row["volume24"] * size * row["lastPrice"] == pytest.approx(row["amount24"], rel=0.02)
    # Of a coin-margined contract the turnover is coins; at the mark price it is near its contracts of 100 dollars.
    parsed = exchange.parse_ticker(bodies.inverse, exchange.market("BTC_USD"))
    ((*_, turnover, held, _),) = column(warehouse, "perp_tickers", columns, "symbol = 'BTC_USD'")
    assert turnover == bodies.inverse["amount24"] * bodies.inverse["fairPrice"]
    assert turnover == pytest.approx(parsed["quoteVolume"], rel=0.03)
    assert held == bodies.inverse["holdVol"]


def test_real_klines_count_contracts_and_seconds(built: tuple[Bodies, Warehouse]) -> None:
    bodies, warehouse = built
    sizes = {"BTC_USDT": 0.0001, "BTC_USD": 100}
    columns = "opened_ms, closed_ms, open, high, low, close, volume_contracts, turnover"
    for symbol, bars in bodies.klines.items():
        inverse = symbol == "BTC_USD"
        expected = [
            (symbol, bar["t"] * 1000, bar["t"] * 1000 + MINUTE - 1, bar["o"], bar["h"], bar["l"], bar["c"], bar["q"],
             None if inverse else bar["a"]) for bar in bars
        ]  # fmt: skip
        assert column(warehouse, "perp_bars", columns, f"symbol = '{symbol}'") == sorted(expected)
        for bar in bars:
            # Contracts are coins of the linear contract, dollars of the coin-margined one; `a` is the settle currency.
            settled = bar["q"] * sizes[symbol] / bar["c"] if inverse else bar["q"] * sizes[symbol] * bar["c"]
            assert settled == pytest.approx(bar["a"], rel=2e-3)


def test_the_rest_of_the_real_bodies(built: tuple[Bodies, Warehouse]) -> None:
    bodies, warehouse = built
    exchange = reader(bodies)
    rates = [exchange.parse_funding_rate(row) for row in bodies.funding["data"]]
    assert column(warehouse, "funding", "funding_rate, interval_h, next_funding_ms") == [
        (row["info"]["symbol"], row["fundingRate"], float(row["interval"].rstrip("h")), row["fundingTimestamp"])
        for row in rates
    ]
    settled = bodies.settled["data"]["resultList"]
    assert column(warehouse, "settlements", "settled_ms, funding_rate") == sorted(
        (row["symbol"], row["settleTime"], row["fundingRate"]) for row in settled
    )
    (pair,) = exchange.fetch_spot_markets()
    found = column(warehouse, "spot_instruments", "base_raw, quote, status")
    assert found == [(pair["id"], pair["baseId"], pair["quoteId"], "trading")]
    # The recorded samples have no quoteVolume.
    assert column(warehouse, "spot_tickers", "last_price, vol24h_quote") == [
        (row["symbol"], float(row["lastPrice"]), None) for row in bodies.spot_tickers
    ]
    bars = column(warehouse, "spot_bars", "opened_ms, open, high, low, close, volume, turnover, closed_ms")
    assert bars == [
        ("BTCUSDT", *exchange.parse_ohlcv(row), float(row[7]), row[0] + MINUTE - 1) for row in bodies.spot_klines
    ]


async def test_the_simulator_responds_like_the_venue(recordings: Path) -> None:
    bodies = Bodies(recordings)
    async with sandbox(now_ms=NOW) as client:
        ours = {
            "detail": (await client.get(f"{CONTRACT}/detail")).json,
            "ticker": (await client.get(f"{CONTRACT}/ticker")).json,
            "funding": (await client.get(f"{CONTRACT}/funding_rate")).json,
            "settled": (await client.get(f"{CONTRACT}/funding_rate/history", symbol="BTC_USDT")).json,
            "spot_tickers": (await client.get(f"{SPOT}/ticker/24hr")).json,
            "spot_info": (await client.get(f"{SPOT}/exchangeInfo")).json,
            "spot_klines": (await client.get(f"{SPOT}/klines", symbol="BTCUSDT", interval="1m", limit=3)).json,
        }
    for name, body in ours.items():
        rows = body["data"] if name == "ticker" else body if name == "spot_tickers" else None
        if rows is not None:
            # One market against the recorded one: BTC at other times.
            rows[:] = [row for row in rows if row["symbol"] in ("BTC_USDT", "BTCUSDT")]
    # Of 786 contracts six have tiers of their own, and eleven have a time of delivery; the recorded spot sample is
    # without quantities; collectCycle was added to settlements after their sample.
    optional = {"riskLimitCustom", "deliveryTime", "deliveryPriceTrend", "tieredFeeRates", "leverageFeeRates",
                "collectCycle"}  # fmt: skip
    ignored = {"bidQty", "askQty", "riskLimitCustom", "vid", "baseCoinId"}
    found = {name: differences(getattr(bodies, name), body, optional=optional, ignored=ignored,
                               unscaled={"totalCount", "totalPage", "maxLeverage"})
             for name, body in ours.items()}  # fmt: skip
    assert found == {name: [] for name in ours}


async def test_limits_errors_and_random_access() -> None:
    assert MEXC.fault
    async with sandbox(now_ms=NOW) as client:
        assert (await client.get(f"{CONTRACT}/detail")).status == 200
        refused = await client.get(f"{CONTRACT}/detail")
        assert (refused.status, refused.json["code"]) == (200, 510)
        assert MEXC.fault(refused.text)
        unknown = await client.get(f"{CONTRACT}/kline/NOPE_USDT", interval="Min1")
        assert MEXC.fault(unknown.text)
        statuses = [(await client.get(f"{SPOT}/ticker/24hr")).status for _ in range(9)]
        assert statuses == [200] * 8 + [429]
        end = (NOW - 2 * 365 * 86_400_000) // 3_600_000 * 3600
        history = await client.get(f"{CONTRACT}/kline/BTC_USDT", interval="Min60", start=end - 99 * 3600, end=end)
        assert MEXC.fault(history.text) is None
        assert history.json["data"]["time"] == list(range(end - 99 * 3600, end + 1, 3600))
        past = f"{CONTRACT}/funding_rate/history"
        pages = [(await client.get(past, symbol="BTC_USDT", page_num=n, page_size=10)).json for n in (1, 2)]
        times = [row["settleTime"] for page in pages for row in page["data"]["resultList"]]
        assert len(times) == 20
        assert times == sorted(set(times), reverse=True)


def test_coin_margined_turnover_ranks_in_dollars(recordings: Path) -> None:
    bodies = Bodies(recordings)
    bars = next(endpoint for endpoint in MEXC.endpoints if endpoint.name == "perp_bars")
    assert bars.fan_out
    assert bars.fan_out.of
    ranks = dict(bars.fan_out.of.read(enveloped([bodies.live[0], bodies.inverse])))
    assert ranks == {"BTC_USDT": 2606920596.04, "BTC_USD": pytest.approx(2_075_350_000, rel=1e-3)}
