"""Bitget: staging of real bodies, checked by two independent computations; the simulator; a recorded minute."""

import json
from pathlib import Path
from typing import Any

import aiohttp
import ccxt
import pytest

from ingest.venues.bitget import API, BITGET, PERPS, STREAMS, category
from sandbox.derived.truth import truth
from sandbox.http.streams import LONGEST_CATCH_UP_MS
from sandbox.venues.bitget import streams as bitget_streams
from tests.ingest.venues.conftest import FirstMinute
from tests.support.pipeline.warehouse import MINUTE, Warehouse, response, seeded, span
from tests.support.recordings.captures import sample
from tests.support.recordings.conformance import differences
from tests.support.recordings.recorded import read
from tests.support.servers.sandbox_client import sandbox

AT_MS = 1_790_000_000_000 // MINUTE * MINUTE
NOW = 1_795_000_020_000 + 7_000
FIVE = json.dumps({"period": "5m"})


def enveloped(rows: list[Any]) -> dict[str, Any]:
    return {"code": "00000", "msg": "success", "requestTime": AT_MS, "data": rows}


class Bodies:
    """The recorded bodies of Bitget, and the landed rows that they make."""

    def __init__(self, recordings: Path) -> None:
        folder = recordings / "bitget"
        messages = [one["message"] for one in read(folder / "ws-messages.tardis.json")]
        unified, futures, spot = (f"{name}/ExchangeData" for name in ("Unified", "Futures", "Spot"))
        self.tickers = sample(folder, f"{unified}/GetFuturesTickers.txt")
        # The stream's tickers are the REST rows without category and symbol.
        live = [one for one in messages if one.get("arg", {}).get("topic") == "ticker" and "data" in one]
        self.live = enveloped([{"symbol": one["arg"]["symbol"], **one["data"][0]} for one in live])
        self.instruments = sample(folder, f"{unified}/GetFuturesSymbols.txt")
        self.funding = sample(folder, f"{unified}/GetFundingRate.txt")
        self.settled = sample(folder, f"{unified}/GetFundingRateHistory.txt")
        self.components = sample(folder, f"{unified}/GetIndexComponents.txt")
        self.candles = sample(folder, f"{futures}/GetKlines.txt")
        self.spot_candles = sample(folder, f"{spot}/GetKlines.txt")
        self.liquidations = [one for one in messages if one.get("arg", {}).get("topic") == "liquidation"]

    def rows(self) -> list[dict[str, Any]]:
        return [
            response(AT_MS, "bitget", "perp_tickers", self.tickers, key="USDT-FUTURES"),
            response(AT_MS + MINUTE, "bitget", "perp_tickers", self.live, key="USDT-FUTURES"),
            response(AT_MS, "bitget", "instruments", self.instruments, key="USDT-FUTURES"),
            response(AT_MS, "bitget", "funding", self.funding, key="USDT-FUTURES"),
            response(AT_MS, "bitget", "settlements", self.settled, key="BTCUSDT"),
            response(AT_MS, "bitget", "index_components", self.components, key="BTCUSDT"),
            response(AT_MS, "bitget", "perp_bars", self.candles, key="BTCUSDT", params='{"granularity":"5m"}'),
            response(AT_MS, "bitget", "spot_bars", self.spot_candles, key="BTCUSDT", params='{"granularity":"1min"}'),
            span(AT_MS, "bitget", [{"event": "subscribe", "arg": {}}, *self.liquidations]),
        ]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return seeded(tmp_path_factory.mktemp("bitget"))


@pytest.fixture(scope="module")
def built(recordings: Path, warehouse: Warehouse) -> tuple[Bodies, Warehouse]:
    bodies = Bodies(recordings)
    warehouse.build(bodies.rows(), "raw_window")
    return bodies, warehouse


def column(warehouse: Warehouse, kind: str, columns: str, where: str = "true") -> list[tuple[Any, ...]]:
    query = f"select symbol, {columns} from stg_bitget__{kind} where reject is null and {where} order by all"
    return warehouse.rows(query)


def test_real_tickers_are_read_as_ccxt_reads_them(built: tuple[Bodies, Warehouse]) -> None:
    bodies, warehouse = built
    exchange = ccxt.bitget()
    columns = "last_price, mark_price, index_price, vol24h_quote, open_interest, funding_rate"
    for minute, body in ((AT_MS, bodies.tickers), (AT_MS + MINUTE, bodies.live)):
        rows = []
        for row in body["data"]:
            market = {"symbol": row["symbol"], "contract": True, "swap": True}
            parsed, rate = exchange.parse_ticker(row, market), exchange.parse_funding_rate(row, market)
            held = exchange.parse_open_interest({"list": [row]}, market)["openInterestAmount"]
            rows.append((row["symbol"], parsed["last"], parsed["markPrice"], parsed["indexPrice"],
                         parsed["quoteVolume"], held, rate["fundingRate"]))  # fmt: skip
        assert column(warehouse, "perp_tickers", columns, f"tick_ms = {minute}") == sorted(rows)
    # Sizes are coins, not contracts and not money: turnover is volume times a price of the day.
    ((_, last, *_, turnover, _, _),) = column(warehouse, "perp_tickers", columns, f"tick_ms = {AT_MS + MINUTE}")
    assert turnover == pytest.approx(float(bodies.live["data"][0]["volume24h"]) * last, rel=0.02)


def test_the_rest_of_the_real_bodies(built: tuple[Bodies, Warehouse]) -> None:
    bodies, warehouse = built
    columns = "base_raw, quote, settle, contract_type, status, listed_ms, delisted_ms, inverse, category, interval_h"
    assert column(warehouse, "instruments", columns) == [
        ("BTCUSDT", "BTC", "USDT", "USDT", "perpetual", "trading", None, None, False, ["crypto"], 8.0)
    ]
    exchange = ccxt.bitget()
    rates = [exchange.parse_funding_rate(row) for row in bodies.funding["data"]]
    assert column(warehouse, "funding", "funding_rate, interval_h, next_funding_ms") == [
        (row["symbol"].replace("/", "").partition(":")[0], row["fundingRate"], float(row["interval"].rstrip("h")),
         row["fundingTimestamp"]) for row in rates
    ]  # fmt: skip
    settled = bodies.settled["data"]["resultList"]
    assert column(warehouse, "settlements", "settled_ms, funding_rate") == sorted(
        (row["symbol"], int(row["fundingRateTimestamp"]), float(row["fundingRate"])) for row in settled
    )
    parts = bodies.components["data"]["componentList"]
    found = column(warehouse, "index_components", "exchange, pair, weight")
    assert found == sorted(("BTCUSDT", row["exchange"].lower(), row["spotPair"], float(row["weight"])) for row in parts)
    assert sum(row[3] for row in found) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(("kind", "step"), [("perp_bars", 300_000), ("spot_bars", 60_000)])
def test_real_bars(built: tuple[Bodies, Warehouse], kind: str, step: int) -> None:
    bodies, warehouse = built
    body = bodies.candles if kind == "perp_bars" else bodies.spot_candles
    columns = "opened_ms, open, high, low, close, volume, turnover, closed_ms"
    expected = [
        ("BTCUSDT", *ccxt.bitget().parse_ohlcv(row), float(row[6]), int(row[0]) + step - 1) for row in body["data"]
    ]
    assert column(warehouse, kind, columns) == sorted(expected)


def test_real_liquidations_are_of_positions_and_counted_in_quote(built: tuple[Bodies, Warehouse]) -> None:
    bodies, warehouse = built
    events = [event for frame in bodies.liquidations for event in frame["data"]]
    found = column(warehouse, "liquidations", "side, ts, size_quote, price")
    assert found == sorted(
        (row["symbol"], {"buy": "long", "sell": "short"}[row["side"]], int(row["ts"]), float(row["amount"]),
         float(row["price"])) for row in events
    )  # fmt: skip
    for _, _, _, notional, price in found:
        # Whole tenths of a coin come out only if the amount is money.
        assert notional / price == pytest.approx(round(notional / price, 1), rel=1e-9)
    assert warehouse.rows("select count(*) from stg_bitget__liquidations where reject is not null") == [(0,)]


def test_ratios_are_read_as_a_fraction_also_from_an_empty_response(warehouse: Warehouse) -> None:
    """No body of these was recorded; the fields are those of the venue's documents."""
    share = {"longAccountRatio": "0.7724", "shortAccountRatio": "0.2276", "longShortAccountRatio": "0.0339",
             "ts": "1758603000000"}  # fmt: skip
    taken = {"buyVolume": "25.93", "sellVolume": "12.5", "ts": "1758603000000"}
    none = {"code": "40054", "msg": "The data fetched by SUIUSDT is empty", "requestTime": 1, "data": None}
    for n, (kind, row) in enumerate((("long_short_accounts", share), ("taker_ratio", taken))):
        minute = AT_MS + n * MINUTE
        rows = [response(minute, "bitget", kind, enveloped([row]), key="BTCUSDT", params=FIVE)]
        warehouse.build([*rows, response(minute, "bitget", kind, none, key="SUIUSDT", params=FIVE)], "raw_window")
        columns = "long_fraction" if "accounts" in kind else "taker_buy, taker_sell, unit"
        values = (0.7724,) if "accounts" in kind else (25.93, 12.5, "base")
        query = f"select symbol, t, period_ms, {columns}, reject from stg_bitget__{kind}"
        assert warehouse.rows(query) == [("BTCUSDT", 1758603000000, 300_000, *values, None)]


def test_every_category_of_perpetuals_is_asked_and_has_markets(first_minute: FirstMinute) -> None:
    asked = {row["key"] for row in first_minute.rows["bitget"] if row["endpoint"] == "perp_tickers"}
    symbols = first_minute.warehouse.rows("select symbol from stg_bitget__perp_tickers")
    assert asked == {category(symbol) for (symbol,) in symbols} == set(PERPS)


def test_liquidations_of_the_minute_before_are_the_worlds(first_minute: FirstMinute, tmp_path: Path) -> None:
    """By the account that the simulator gives of what it sent: of a market, the latest in each window."""
    world, before, warehouse = first_minute.world, (NOW // MINUTE - 1) * MINUTE, seeded(tmp_path)
    frames = [json.loads(frame) for _, _, frame in bitget_streams.frames(world, before // MINUTE)]
    warehouse.build([span(before, "bitget", frames)], "raw_window")
    found = column(warehouse, "liquidations", "side, ts, size_quote")
    assert len(found) > 1
    for symbol in {row[0] for row in found}:
        events = truth(world, "bitget", "perp", symbol, before, before + MINUTE, bitget_streams.WINDOW_MS)
        sent = [(one["side"], one["ts"], one["usd"]) for one in events["liquidations"] if one["sent"]]
        assert sorted(sent) == sorted((side, ts, pytest.approx(usd)) for name, side, ts, usd in found if name == symbol)


async def test_the_simulator_responds_like_the_venue(recordings: Path) -> None:
    bodies = Bodies(recordings)
    async with sandbox(now_ms=NOW) as client:
        root = f"/{API}/api"
        ours = {}
        for name, path, params in (
            ("tickers", "v3/market/tickers", {"category": "USDT-FUTURES", "symbol": "BTCUSDT"}),
            ("instruments", "v3/market/instruments", {"category": "USDT-FUTURES", "symbol": "BTCUSDT"}),
            ("funding", "v3/market/current-fund-rate", {"category": "USDT-FUTURES", "symbol": "BTCUSDT"}),
            ("settled", "v3/market/history-fund-rate", {"category": "USDT-FUTURES", "symbol": "BTCUSDT"}),
            ("components", "v3/market/index-components", {"symbol": "BTCUSDT"}),
            ("candles", "v2/mix/market/candles",
             {"symbol": "BTCUSDT", "productType": "usdt-futures", "granularity": "5m"}),
            ("spot_candles", "v2/spot/market/candles", {"symbol": "BTCUSDT", "granularity": "1min"}),
        ):  # fmt: skip
            ours[name] = (await client.get(f"{root}/{path}", **params)).json
    found = {name: differences(getattr(bodies, name), body) for name, body in ours.items()}
    assert found == {name: [] for name in ours}


async def test_limits_errors_and_random_access() -> None:
    async with sandbox(now_ms=NOW) as client:
        ratio = f"/{API}/api/v2/mix/market/account-long-short"
        first, second = [await client.get(ratio, symbol="BTCUSDT", period="5m") for _ in range(2)]
        assert (first.status, len(first.json["data"])) == (200, 30)
        assert (second.status, second.json["code"]) == (429, "429")
        wrong = await client.get(f"/{API}/api/v3/market/tickers", category="NOPE")
        assert (wrong.status, wrong.json["code"]) == (400, "40034")
        years_ago = NOW - 3 * 365 * 86_400_000
        history = await client.get(
            f"/{API}/api/v2/mix/market/history-candles", symbol="BTCUSDT", productType="USDT-FUTURES",
            granularity="1H", endTime=years_ago, limit=200,
        )  # fmt: skip
        times = [int(row[0]) for row in history.json["data"]]
        last = years_ago // 3_600_000 * 3_600_000
        assert times == list(range(last - 199 * 3_600_000, last + 1, 3_600_000))


async def test_the_socket_speaks_as_declared() -> None:
    stream = BITGET.streams[0]
    assert stream.subscribe
    assert stream.topics
    assert stream.skip
    assert stream.refused
    async with sandbox(now_ms=NOW) as client:
        listed = (await client.get(f"/{API}/api/v3/market/tickers", category="USDT-FUTURES")).json
        topics = [key for key, _ in stream.topics.read(listed)]
        async with client.session.ws_connect(f"{client.url}/{STREAMS}{stream.path}") as ws:
            (message,) = stream.subscribe("subscribe", [*topics, "COIN-FUTURES"])
            await ws.send_str(message)
            answers = [await ws.receive_json(timeout=5) for _ in range(2)]
            assert {one["event"] for one in answers} == {"subscribe"}
            assert {one["arg"]["instType"] for one in answers} == {"usdt-futures", "coin-futures"}
            await ws.send_str(stream.heartbeat or "")
            assert stream.skip(await ws.receive_str(timeout=5))
            await ws.send_str('{"op":"subscribe","args":[{"instType":"usdt-futures","topic":"nothing"}]}')
            assert stream.refused(await ws.receive_str(timeout=5))
            await client.clock(NOW + LONGEST_CATCH_UP_MS)  # somebody is liquidated in these minutes
            frame = await ws.receive(timeout=5)
            assert frame.type is aiohttp.WSMsgType.TEXT
            assert frame.json()["arg"] in ({"instType": kind, "topic": "liquidation"} for kind in bitget_streams._TYPES)


def test_ranks_and_keys_of_the_declaration(recordings: Path) -> None:
    bodies = Bodies(recordings)
    ratios = next(endpoint for endpoint in BITGET.endpoints if endpoint.name == "taker_ratio")
    assert ratios.fan_out
    assert ratios.fan_out.of
    assert list(ratios.fan_out.of.read(bodies.tickers)) == [("BTCUSDT", 4667820987.88478)]
    assert [category(one) for one in ("BTCUSDT", "BTCPERP", "BTCUSD")] == list(PERPS)
    assert BITGET.fault
    assert BITGET.fault(json.dumps(bodies.tickers)) is None
    assert BITGET.fault('{"code":"40034","msg":"Parameter does not exist"}')
