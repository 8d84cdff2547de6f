"""Coinbase Exchange: staging of real bodies, checked by two independent computations; the simulator; a recorded
minute."""

from pathlib import Path
from typing import Any

import ccxt
import pytest

from ingest.venues.coinbase import COVERED
from sandbox.market.listing import ANCHOR_MS
from tests.ingest.venues.conftest import NOW_MS, FirstMinute
from tests.support.facts.spot_truth import (
    assert_bars_are_true,
    bars,
    rows_of,
)
from tests.support.pipeline.warehouse import MINUTE, Warehouse, response, seeded
from tests.support.recordings.captures import logged
from tests.support.recordings.conformance import differences
from tests.support.recordings.recorded import read
from tests.support.servers.sandbox_client import SandboxClient, sandbox

AT_MS = 1_790_000_000_000 // MINUTE * MINUTE
NOW = ANCHOR_MS + 7 * 3_600_000 + 37_500
HOST = "/api.exchange.coinbase.com"
NEWER = {"fx_stablecoin", "max_slippage_percentage", "auction_mode", "high_bid_limit_percentage"}
DROPPED = {"base_min_size", "base_max_size", "max_market_funds"}


@pytest.fixture(scope="module")
def coinbase(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return seeded(tmp_path_factory.mktemp("coinbase"))


@pytest.fixture
async def client() -> Any:
    async with sandbox(now_ms=NOW) as one:
        yield one


def bodies(folder: Path) -> tuple[list[Any], dict[str, Any]]:
    """Recorded product lists of 2019 and 2021, and the tickers of 51 products in 2019."""
    kept = read(folder / "spot_tickers.coinranking2019.json.gz")
    lists = [one["response"] for one in kept if one["path"] == "/products"]
    lists.append(logged(folder / "cryptofeed/COINBASE.0.txt.gz", "https://api.pro.coinbase.com/products"))
    tickers = {one["path"].split("/")[2]: one["response"] for one in kept if one["path"].endswith("/ticker")}
    return lists, tickers


def test_recorded_bodies_read_as_ccxt_reads_them(recordings: Path, coinbase: Warehouse) -> None:
    lists, tickers = bodies(recordings / "coinbase")
    rows = [response(AT_MS + n * MINUTE, "coinbase", "spot_instruments", body) for n, body in enumerate(lists)]
    rows += [response(AT_MS, "coinbase", "product_tickers", body, key=key) for key, body in tickers.items()]
    coinbase.build(rows, "raw_window")
    parser = ccxt.coinbaseexchange()
    expected = [
        (AT_MS + n * MINUTE, one["id"], one["base_currency"], one["quote_currency"], "trading", None)
        for n, body in enumerate(lists)
        for one in body
    ]
    query = "select tick_ms, symbol, base_raw, quote, status, reject from stg_coinbase__spot_instruments order by all"
    assert coinbase.rows(query) == sorted(expected)
    assert len(expected) > 200
    reported = coinbase.rows("select symbol, last_price, vol24h_quote, reject from stg_coinbase__spot_tickers")
    assert {symbol for symbol, *_ in reported} == set(tickers)
    for symbol, price, volume, reject in reported:
        one = parser.parse_ticker(tickers[symbol])
        assert (price, reject) == (one["last"], None)
        assert volume == pytest.approx(one["last"] * one["baseVolume"])
    assert len(reported) == 51


async def test_simulated_bodies_have_the_recorded_structure(client: SandboxClient, recordings: Path) -> None:
    lists, tickers = bodies(recordings / "coinbase")
    ours = (await client.get(f"{HOST}/products")).json
    assert differences(lists[-1], ours, optional=NEWER | DROPPED, unscaled={"[].quote_increment"}) == []
    assert differences(tickers["BTC-USD"], (await client.get(f"{HOST}/products/BTC-USD/ticker")).json) == []


def test_bars_are_asked_of_the_covered_and_the_busiest(first_minute: FirstMinute) -> None:
    staged, markets = first_minute.warehouse, rows_of(first_minute.world, "coinbase", NOW_MS)
    trading = staged.rows("select symbol from stg_coinbase__spot_instruments where status = 'trading'")
    assert {symbol for (symbol,) in trading} == set(markets)
    reported = staged.rows("select endpoint, symbol, last_price, vol24h_quote from stg_coinbase__spot_tickers")
    assert {symbol for endpoint, symbol, *_ in reported if endpoint == "product_tickers"} == set(COVERED)
    others = sorted(
        (volume, symbol) for _, symbol, _, volume in reported if symbol[-4:] == "-USD" and symbol not in COVERED
    )
    asked = {row["key"] for row in first_minute.rows["coinbase"] if row["endpoint"] == "spot_bars"}
    assert {*COVERED, *(symbol for _, symbol in others[-40:])} <= asked
    assert_bars_are_true(first_minute.warehouse, "coinbase", first_minute.world, NOW_MS, asked)


async def test_history_reaches_years_back_in_windows_of_300(client: SandboxClient) -> None:
    world = client.app.ctx.sandbox.world
    row, end = rows_of(world, "coinbase", NOW)["BTC-USD"], 1_672_531_200_000  # 2023-01-01
    asked = {"granularity": 60, "start": "2022-12-31T19:01:00Z", "end": "2022-12-31T23:59:00Z"}
    found = (await client.get(f"{HOST}/products/BTC-USD/candles", **asked)).json
    parser = ccxt.coinbaseexchange()
    true = [(start, *rest) for start, _, *rest in bars(world, row, end, 299)]
    for got, expected in zip(map(tuple, map(parser.parse_ohlcv, found)), reversed(true), strict=True):
        assert got == pytest.approx(expected, rel=1e-6)
    days = {"granularity": 86400, "start": "2022-06-01T00:00:00Z", "end": "2022-12-31T00:00:00Z"}
    assert len((await client.get(f"{HOST}/products/ETH-USD/candles", **days)).json) == 214
    too_long = await client.get(f"{HOST}/products/BTC-USD/candles", **(days | {"granularity": 3600}))
    assert too_long.status == 400
    assert "exceeds 300" in too_long.json["message"]
    assert (await client.get(f"{HOST}/products/BTC-USD/candles", granularity=61)).status == 400
    assert (await client.get(f"{HOST}/products/NO-USD/candles")).json == {"message": "NotFound"}
    assert len((await client.get(f"{HOST}/products/BTC-USD/candles", granularity=60)).json) == 300
