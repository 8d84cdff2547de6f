"""Gate: what its real bodies become in staging, by two routes; its stand-in; the declaration against the stand-in."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import ccxt
import pytest

from tests.captures import frames, logged, raw, sample
from tests.recorded import read
from tests.warehouse import MINUTE, Warehouse, response, span

TICK = 1_790_000_000_000 // MINUTE * MINUTE
HOUR = 60 * MINUTE
STATS = ("long_short_accounts", "long_short_top_accounts", "long_short_top_positions", "taker_ratio")


class Bodies:
    """The recorded bodies of Gate, and the landed rows that they make: two ticks where a kind has two bodies."""

    def __init__(self, recordings: Path) -> None:
        folder = recordings / "gate"
        log = folder / "cryptofeed"
        self.contracts = logged(log / "GATEIO_FUTURES.0.txt.gz", "https://api.gateio.ws/api/v4/futures/usdt/contracts")
        self.tickers = read(folder / "api_v4_futures_usdt_tickers.2026-09.json")
        # Until 2026 tickers were recorded from the stream alone; their rows are those of the REST body.
        pushed = [*frames(folder, "futures.tickers"), raw(folder, "ticker", "linear_swap")]
        rows = [row for frame in pushed for row in _flat(frame["result"])]
        self.older_tickers = list({row["contract"]: row for row in rows if row["contract"].endswith("_USDT")}.values())
        self.inverse_tickers = raw(folder, "ticker", "inverse_swap")["result"]
        self.spot = read(folder / "spot_tickers.coinranking2021.json.gz")[0]["response"]
        self.pairs = logged(log / "GATEIO.0.txt.gz", "https://api.gateio.ws/api/v4/spot/currency_pairs")
        self.stats = {
            "BTC_USDT": ("1h", read(folder / "api_v4_futures_usdt_contract_stats.2026-09.json")),
            "BTC_USDT of 2022": ("5m", raw(folder, "open_interest", "linear_swap")),
        }
        endpoints = "PerpetualFutures/ExchangeData"
        self.candles = sample(folder, f"{endpoints}/GetKlines.txt")
        self.spot_candles = sample(folder, "Spot/ExchangeData/GetKlines.txt")
        self.constituents = sample(folder, f"{endpoints}/GetIndexConstituents.txt")
        self.settled = sample(folder, f"{endpoints}/GetFundingRateHistory.txt")
        self.decimal_contract = sample(folder, f"{endpoints}/GetContracts.txt")

    def rows(self) -> list[dict[str, Any]]:
        one_minute = json.dumps({"interval": "1m"})
        return [
            response(TICK, "gate", "instruments", self.contracts, key="usdt"),
            response(TICK + MINUTE, "gate", "instruments", self.decimal_contract, key="usdt"),
            response(TICK, "gate", "perp_tickers", self.tickers, key="usdt"),
            response(TICK, "gate", "perp_tickers", self.inverse_tickers, key="btc"),
            response(TICK + MINUTE, "gate", "perp_tickers", self.older_tickers, key="usdt"),
            response(TICK, "gate", "spot_tickers", self.spot),
            response(TICK, "gate", "spot_instruments", self.pairs),
            response(TICK, "gate", "perp_bars", self.candles, key="BTC_USDT", params=one_minute),
            response(TICK, "gate", "spot_bars", self.spot_candles, key="BTC_USDT", params=one_minute),
            *(
                response(TICK, "gate", "contract_stats", body, key=contract, params=json.dumps({"interval": interval}))
                for contract, (interval, body) in self.stats.items()
            ),
            response(TICK, "gate", "index_components", self.constituents, key="BTC_USDT"),
            response(TICK, "gate", "settlements", self.settled, key="BTC_USDT"),
        ]


def _flat(result: Any) -> Iterable[Any]:
    """The rows of a pushed result: an object, a list, or a list in a list."""
    return [row for one in result for row in _flat(one)] if isinstance(result, list) else [result]


@pytest.fixture(scope="module")
def bodies(recordings: Path) -> Bodies:
    return Bodies(recordings)


@pytest.fixture(scope="module")
def staged(bodies: Bodies, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    warehouse = Warehouse(tmp_path_factory.mktemp("gate")).create()
    warehouse.build(bodies.rows(), "raw_window", "path:models/staging/gate")
    return warehouse


def test_tickers_are_the_bodys(bodies: Bodies, staged: Warehouse) -> None:
    exchange = ccxt.gate()
    expected = {}
    for tick, rows in ((TICK, bodies.tickers + bodies.inverse_tickers), (TICK + MINUTE, bodies.older_tickers)):
        for row in rows:
            market = {"symbol": row["contract"], "contract": True, "linear": True}
            parsed = exchange.parse_ticker(row, market)
            expected[tick, row["contract"]] = (
                parsed["last"], parsed["markPrice"], parsed["indexPrice"], float(row["volume_24h_quote"]),
                float(row["total_size"]), float(row["funding_rate"]),
            )  # fmt: skip
    columns = "tick_ms, symbol, last_price, mark_price, index_price, vol24h_quote, open_contracts, funding_rate, reject"
    got = {row[:2]: row[2:] for row in staged.rows(f"select {columns} from stg_gate__perp_tickers")}
    assert got == {key: (*values, None) for key, values in expected.items()}
    assert len(got) == 4
    # The recorded ticker names its own contract size: its quote volume is that of its contracts, to the rounding.
    btc = bodies.tickers[0]
    contracts, size, quote = (float(btc[name]) for name in ("volume_24h", "quanto_multiplier", "volume_24h_quote"))
    assert quote == pytest.approx(contracts * size * float(btc["mark_price"]), rel=0.02)


def test_contracts_are_the_bodys(bodies: Bodies, staged: Warehouse) -> None:
    exchange = ccxt.gate()
    expected = {}
    for row in bodies.contracts:
        parsed = exchange.parse_contract_market(row, "usdt")
        # The one contract in delisting still has positions.
        status = "halted" if row["in_delisting"] else "trading"
        expected[row["name"]] = (
            parsed["baseId"], parsed["quoteId"], "USDT", status, row["create_time"] * 1000 or None,
            parsed["contractSize"], False, row["funding_interval"] / 3600, None,
        )  # fmt: skip
    columns = "symbol, base_raw, quote, settle, status, listed_ms, contract_size, inverse, interval_h, reject"
    rows = staged.rows(f"select {columns} from stg_gate__instruments where tick_ms = ?", [TICK])
    got = {row[0]: row[1:] for row in rows}
    assert got == expected
    assert len(got) == 302
    assert {row[4] for row in got.values()} - {None}
    assert [name for name, row in got.items() if row[3] == "halted"] == ["COCOS_USDT"]


def test_a_contract_in_the_form_with_decimal_sizes_is_read(staged: Warehouse) -> None:
    columns = "symbol, contract_size, status, interval_h, reject"
    rows = staged.rows(f"select {columns} from stg_gate__instruments where tick_ms = ?", [TICK + MINUTE])
    assert rows == [("LAB_USDT", 100.0, "trading", 8.0, None)]


def test_spot_pairs_and_tickers_are_the_bodys(bodies: Bodies, staged: Warehouse) -> None:
    exchange = ccxt.gate()
    expected = {}
    for row in bodies.spot:
        parsed = exchange.parse_ticker(row)
        if parsed["last"]:
            expected[row["currency_pair"]] = (parsed["last"], parsed["quoteVolume"], None)
    rows = staged.rows("select symbol, last_price, vol24h_quote, reject from stg_gate__spot_tickers")
    assert {row[0]: row[1:] for row in rows} == expected
    assert (len(rows), len(bodies.spot)) == (935, 942)
    words = {"tradable": "trading", "untradable": "delisted", "sellable": "halted"}
    pairs = {row["id"]: (row["base"], row["quote"], words[row["trade_status"]], None) for row in bodies.pairs}
    rows = staged.rows("select symbol, base_raw, quote, status, reject from stg_gate__spot_instruments")
    assert {row[0]: row[1:] for row in rows} == pairs
    assert len(rows) == 1458


def test_candles_are_the_bodys(bodies: Bodies, staged: Warehouse) -> None:
    exchange = ccxt.gate()
    prices = "symbol, opened_ms, open, high, low, close"
    for kind, body, volume in (
        ("perp_bars", bodies.candles, "volume_contracts"),
        ("spot_bars", bodies.spot_candles, "volume"),
    ):
        parsed = [tuple(exchange.parse_ohlcv(row, {"contract": kind == "perp_bars"})) for row in body]
        rows = staged.rows(f"select {prices}, {volume}, closed_ms - opened_ms, turnover, reject from stg_gate__{kind}")
        turnovers = [float(row["sum"] if kind == "perp_bars" else row[1]) for row in body]
        assert rows == [
            ("BTC_USDT", *bar, 59_999, turnover, None) for bar, turnover in zip(parsed, turnovers, strict=True)
        ]


def test_ratios_and_taker_flow_are_the_bodys(bodies: Bodies, staged: Warehouse) -> None:
    """Shares from the counts where there are counts; the venue's own ratio says the same."""
    for contract, (interval, body) in bodies.stats.items():
        step = HOUR if interval == "1h" else 5 * MINUTE
        for kind, ratio in zip(STATS[:3], ("lsr_account", "top_lsr_account", "top_lsr_size"), strict=True):
            query = f"select t, period_ms, long_fraction, reject from stg_gate__{kind} where symbol = ? order by t"
            got = staged.rows(query, [contract])
            expected = [(row["time"] * 1000, step, row[ratio] / (1 + row[ratio]), None) for row in body]
            assert [row[:2] for row in got] == [row[:2] for row in expected]
            assert [row[2] for row in got] == pytest.approx([row[2] for row in expected], rel=1e-12)
            assert {row[3] for row in got} == {None}
    query = (
        "select t, taker_buy, taker_sell, unit, reject from stg_gate__taker_ratio where symbol = 'BTC_USDT' order by t"
    )
    got = staged.rows(query)
    body = bodies.stats["BTC_USDT"][1]
    assert got == [
        (row["time"] * 1000, row["long_taker_size"], row["short_taker_size"], "contracts", None) for row in body
    ]
    for row, (_, buy, sell, _, _) in zip(body, got, strict=True):
        assert buy / sell == pytest.approx(row["lsr_taker"], rel=1e-12)
    # Contracts of 0.0001 coins at the mark are the venue's USD of open interest: the unit of a contract.
    for row in body:
        assert row["open_interest"] * 0.0001 * row["mark_price"] == pytest.approx(row["open_interest_usd"], rel=1e-9)


def test_the_running_bucket_is_left_out(bodies: Bodies, tmp_path: Path) -> None:
    interval, body = bodies.stats["BTC_USDT"]
    warehouse = Warehouse(tmp_path).create()
    running = body[-1]["time"] * 1000 + 30 * MINUTE
    row = response(running, "gate", "contract_stats", body, key="BTC_USDT", params=json.dumps({"interval": interval}))
    warehouse.build([row], "raw_window", "path:models/staging/gate")
    for kind in STATS:
        assert warehouse.rows(f"select count(*), max(t) from stg_gate__{kind}") == [
            (len(body) - 1, body[-2]["time"] * 1000)
        ]


def test_components_and_settlements_are_the_bodys(bodies: Bodies, staged: Warehouse) -> None:
    rows = staged.rows("select symbol, exchange, pair, weight, reject from stg_gate__index_components order by 2")
    assert rows == [
        ("BTC_USDT", "binance", "BTC_USDT", None, None),
        ("BTC_USDT", "gate", "BTC_USDT", None, None),
        ("BTC_USDT", "huobi", "BTC_USDT", None, None),
    ]
    settled = [(row["t"] * 1000, float(row["r"]), None) for row in bodies.settled]
    assert staged.rows("select settled_ms, funding_rate, reject from stg_gate__settlements") == settled


def test_no_row_of_a_real_body_is_rejected_but_taker_flow_before_it_was_published(staged: Warehouse) -> None:
    for kind in ("instruments", "perp_tickers", "spot_instruments", "spot_tickers", "perp_bars", "spot_bars", *STATS):
        query = f"select key, count(*) from stg_gate__{kind} where reject is not null group by key"
        expected = [("BTC_USDT of 2022", 2)] if kind == "taker_ratio" else []
        assert staged.rows(query) == expected, kind


def test_liquidation_frames_of_both_forms(tmp_path: Path) -> None:
    """The documented frames: one event until 2026-08-20, lists and decimal texts since; a sale closes a long."""
    channel = {"channel": "futures.public_liquidates", "event": "update", "time": 1_790_000_001}
    messages = [
        {"time": 1_790_000_000, "channel": "futures.public_liquidates", "event": "subscribe", "error": None,
         "result": {"status": "success"}},
        channel | {"result": {"price": 215.1, "size": -124, "time": TICK + 7, "contract": "BTC_USDT"}},
        channel | {"result": [{"price": "0.5", "size": "2.5", "time": TICK + 8, "contract": "LAB_USDT"},
                              {"price": "0.4", "size": "-0.25", "time": TICK + 9, "contract": "LAB_USDT"}]},
        {"time": 1_790_000_002, "channel": "futures.pong", "event": "", "result": None},
    ]  # fmt: skip
    warehouse = Warehouse(tmp_path).create()
    warehouse.build([span(TICK, "gate", messages)], "raw_window", "path:models/staging/gate")
    columns = "symbol, side, ts - ?, size_contracts, price, reject"
    assert warehouse.rows(f"select {columns} from stg_gate__liquidations order by ts", [TICK]) == [
        ("BTC_USDT", "long", 7, 124.0, 215.1, None),
        ("LAB_USDT", "short", 8, 2.5, 0.5, None),
        ("LAB_USDT", "long", 9, 0.25, 0.4, None),
    ]
