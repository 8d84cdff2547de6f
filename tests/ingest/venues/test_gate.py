"""Gate: staging of real bodies, checked by two independent computations; the simulator; the declaration against it."""

import asyncio
import json
from pathlib import Path
from typing import Any

import ccxt
import pytest

from ingest.venues.gate import GATE
from sandbox.market.listing import ANCHOR_MS
from sandbox.venues.gate import SIMULATED
from tests.support.pipeline.warehouse import MINUTE, Warehouse, response, seeded, span
from tests.support.recordings.conformance import differences
from tests.support.recordings.recorded_gate import AT_MS, Bodies
from tests.support.servers.sandbox_client import sandbox

HOUR = 60 * MINUTE
NOW = ANCHOR_MS + 37_500
API = "/api.gateio.ws/api/v4"
PATHS = {
    "usdt/tickers": ("/futures/usdt/tickers", {}),
    "btc/tickers": ("/futures/btc/tickers", {}),
    "usdt/contracts": ("/futures/usdt/contracts", {}),
    "spot/tickers": ("/spot/tickers", {}),
    "currency_pairs": ("/spot/currency_pairs", {}),
    "usdt/candlesticks": ("/futures/usdt/candlesticks", {"contract": "BTC_USDT", "interval": "1m", "limit": 5}),
    "spot/candlesticks": ("/spot/candlesticks", {"currency_pair": "BTC_USDT", "interval": "1m", "limit": 5}),
    "contract_stats": ("/futures/usdt/contract_stats", {"contract": "BTC_USDT", "interval": "1h", "limit": 25}),
    "funding_rate": ("/futures/usdt/funding_rate", {"contract": "BTC_USDT", "limit": 5}),
    "index_constituents": ("/futures/usdt/index_constituents/BTC_USDT", {}),
}
PAIR_LIMITS = {"min_base_amount", "min_quote_amount"}
STATS = ("long_short_accounts", "long_short_top_accounts", "long_short_top_positions", "taker_ratio")


async def _asked(paths: dict[str, tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """The simulator's bodies."""
    async with sandbox(now_ms=NOW, universe="small") as client:
        return {name: (await client.get(API + path, **query)).json for name, (path, query) in paths.items()}


@pytest.fixture(scope="module")
def bodies(recordings: Path) -> Bodies:
    return Bodies(recordings)


@pytest.fixture(scope="module")
def staged(bodies: Bodies, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    warehouse = seeded(tmp_path_factory.mktemp("gate"))
    warehouse.build(bodies.rows(), "raw_window")
    return warehouse


def test_tickers_are_the_bodys(bodies: Bodies, staged: Warehouse) -> None:
    exchange = ccxt.gate()
    expected = {}
    for minute, rows in ((AT_MS, bodies.tickers + bodies.inverse_tickers), (AT_MS + MINUTE, bodies.older_tickers)):
        for row in rows:
            market = {"symbol": row["contract"], "contract": True, "linear": True}
            parsed = exchange.parse_ticker(row, market)
            expected[minute, row["contract"]] = (
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
    rows = staged.rows(f"select {columns} from stg_gate__instruments where tick_ms = ?", [AT_MS])
    got = {row[0]: row[1:] for row in rows}
    assert got == expected
    assert len(got) == 302
    assert {row[4] for row in got.values()} - {None}
    assert [name for name, row in got.items() if row[3] == "halted"] == ["COCOS_USDT"]


def test_a_contract_in_the_form_with_decimal_sizes_is_read(staged: Warehouse) -> None:
    columns = "symbol, contract_size, status, interval_h, reject"
    rows = staged.rows(f"select {columns} from stg_gate__instruments where tick_ms = ?", [AT_MS + MINUTE])
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
    warehouse = seeded(tmp_path)
    running = body[-1]["time"] * 1000 + 30 * MINUTE
    row = response(running, "gate", "contract_stats", body, key="BTC_USDT", params=json.dumps({"interval": interval}))
    warehouse.build([row], "raw_window")
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
        channel | {"result": {"price": 215.1, "size": -124, "time": AT_MS + 7, "contract": "BTC_USDT"}},
        channel | {"result": [{"price": "0.5", "size": "2.5", "time": AT_MS + 8, "contract": "LAB_USDT"},
                              {"price": "0.4", "size": "-0.25", "time": AT_MS + 9, "contract": "LAB_USDT"}]},
        {"time": 1_790_000_002, "channel": "futures.pong", "event": "", "result": None},
    ]  # fmt: skip
    warehouse = seeded(tmp_path)
    warehouse.build([span(AT_MS, "gate", messages)], "raw_window")
    columns = "symbol, side, ts - ?, size_contracts, price, reject"
    assert warehouse.rows(f"select {columns} from stg_gate__liquidations order by ts", [AT_MS]) == [
        ("BTC_USDT", "long", 7, 124.0, 215.1, None),
        ("LAB_USDT", "short", 8, 2.5, 0.5, None),
        ("LAB_USDT", "long", 9, 0.25, 0.4, None),
    ]


def test_the_simulator_responds_like_the_venue(bodies: Bodies) -> None:
    """Every path that is asked against a body of it: keys, types, units. BTC_USDT is the recorded ticker."""
    answers = asyncio.run(_asked(PATHS))

    def btc(rows: list[Any], name: str) -> list[Any]:
        return [row for row in rows if row[name] == "BTC_USDT"]

    assert not differences(bodies.tickers, btc(answers["usdt/tickers"], "contract"))
    # Listed with their whole life since the recording, and with sizes as text for those who ask so.
    since = {"status", "launch_time", "delisting_time", "delisted_time", "enable_decimal", "funding_rate_limit",
             "funding_cap_ratio"}  # fmt: skip
    real = bodies.contracts + bodies.decimal_contract
    assert not differences(real, answers["usdt/contracts"], optional=since, unscaled={"trade_size", "trade_id"})
    assert not differences(bodies.stats["BTC_USDT"][1], answers["contract_stats"])
    assert not differences(bodies.spot, answers["spot/tickers"], unscaled={"base_volume"})
    assert not differences(
        bodies.pairs, answers["currency_pairs"], optional=PAIR_LIMITS, unscaled={"sell_start", "buy_start"}
    )
    # The documented sample is of 2018, its prices those of another contract.
    prices = {"[].c", "[].h", "[].l", "[].o"}
    assert not differences(bodies.candles, answers["usdt/candlesticks"], unscaled=prices)
    assert not differences(bodies.spot_candles, answers["spot/candlesticks"])
    assert not differences(bodies.settled, answers["funding_rate"])
    assert not differences(bodies.constituents, answers["index_constituents"])


async def test_the_declared_stream_receives_the_simulated_frames() -> None:
    """The declared messages: confirmed, refused where the channel is wrong, and every frame of a minute comes."""
    stream = GATE.streams[0]
    assert stream.subscribe is not None
    assert stream.refused is not None
    assert stream.topics is not None
    topics = [key for key, _ in stream.topics.read([])]
    (subscription,) = stream.subscribe("subscribe", topics)
    begin = NOW // MINUTE * MINUTE
    async with sandbox(now_ms=begin, universe="small") as client:
        assert SIMULATED.frames is not None
        due = [json.loads(text) for at, _, text in SIMULATED.frames(client.app.ctx.sandbox.world, begin // MINUTE)]
        url = f"{client.url}/{stream.host}{stream.path}".replace("http", "ws", 1)
        async with client.session.ws_connect(url, headers=dict(GATE.headers)) as ws:
            await ws.send_str(subscription.replace("public_liquidates", "unknown"))
            assert stream.refused(await ws.receive_str()) is not None
            await ws.send_str(subscription)
            confirmed = await ws.receive_str()
            assert json.loads(confirmed)["result"] == {"status": "success"}
            assert stream.refused(confirmed) is None
            await client.clock(begin + MINUTE + 1000)
            heard = [json.loads(await ws.receive_str()) for _ in due]
    assert due
    assert [one for one in heard if one in due] == due
