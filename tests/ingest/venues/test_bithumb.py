"""Bithumb: staging of real bodies, checked by two independent computations; the simulator; a recorded minute."""

from datetime import datetime
from pathlib import Path
from typing import Any

import ccxt
import pytest

from ingest.venues.bithumb import BITHUMB
from ingest.venues.upbit import COVERED
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
NINE_HOURS = 9 * 3_600_000
HOST = "/api.bithumb.com"


@pytest.fixture(scope="module")
def bithumb(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return seeded(tmp_path_factory.mktemp("bithumb"))


@pytest.fixture
async def client() -> Any:
    async with sandbox(now_ms=NOW) as one:
        yield one


def bodies(folder: Path) -> list[Any]:
    """Recorded tickers: all coins in 2019 and 2021, and one market of the newer API in 2026."""
    return [
        read(folder / "spot_tickers.coinranking2020.json.gz")[0]["response"],
        logged(folder / "cryptofeed/BITHUMB.0.txt.gz", "https://api.bithumb.com/public/ticker/ALL_KRW"),
        read(folder / "v1_ticker_KRW-BTC.2026-08-30.json"),
    ]


def test_recorded_bodies_read_as_ccxt_reads_them(recordings: Path, bithumb: Warehouse) -> None:
    recorded = bodies(recordings / "bithumb")
    rows = [response(AT_MS + n * MINUTE, "bithumb", "spot_tickers", body) for n, body in enumerate(recorded)]
    bithumb.build(rows, "raw_window")
    parser, priced = ccxt.bithumb(), []
    for n, body in enumerate(recorded[:2]):
        for coin, row in body["data"].items():
            if coin != "date":
                one = parser.parse_ticker(row)
                priced.append((AT_MS + n * MINUTE, f"KRW-{coin}", one["last"], one["quoteVolume"]))
    newest = recorded[2][0]
    priced.append((AT_MS + 2 * MINUTE, "KRW-BTC", newest["trade_price"], newest["acc_trade_price_24h"]))
    query = "select tick_ms, symbol, last_price, vol24h_quote from stg_bithumb__spot_tickers order by all"
    assert bithumb.rows(query) == sorted(priced)
    assert len(priced) > 250
    assert bithumb.rows("select * from stg_bithumb__spot_tickers where reject is not null") == []


async def test_simulated_bodies_have_the_recorded_structure(client: SandboxClient, recordings: Path) -> None:
    _, older, newer = bodies(recordings / "bithumb")
    assert differences(older, (await client.get(f"{HOST}/public/ticker/ALL_KRW")).json, maps={"data"}) == []
    ours = (await client.get(f"{HOST}/v1/ticker", markets="KRW-BTC")).json
    assert differences(newer, ours) == []
    # Both clocks of the recorded ticker run nine hours ahead of the date that it writes.
    for ticker in (*newer, *ours):
        written = datetime.strptime(f"{ticker['trade_date']}{ticker['trade_time']} +0000", "%Y%m%d%H%M%S %z")
        ahead_ms = ticker["trade_timestamp"] - int(written.timestamp() * 1000)
        assert ahead_ms // 1000 * 1000 == NINE_HOURS
        assert ticker["timestamp"] == ticker["trade_timestamp"]


def test_bars_are_asked_of_the_covered_and_the_busiest(first_minute: FirstMinute) -> None:
    staged, markets = first_minute.warehouse, rows_of(first_minute.world, "bithumb", NOW_MS)
    listed = staged.rows("select symbol, base_raw, quote from stg_bithumb__spot_instruments")
    assert set(listed) == {(symbol, symbol[4:], "KRW") for symbol in markets}
    reported = staged.rows("select symbol, last_price, vol24h_quote from stg_bithumb__spot_tickers")
    others = sorted((volume, symbol) for symbol, _, volume in reported if symbol not in COVERED)
    wanted = {*COVERED, *(symbol for _, symbol in others[-20:])}
    assert_bars_are_true(first_minute.warehouse, "bithumb", first_minute.world, NOW_MS, wanted)


async def test_history_is_asked_by_the_clock_of_seoul(client: SandboxClient) -> None:
    world = client.app.ctx.sandbox.world
    row, end = rows_of(world, "bithumb", NOW)["KRW-BTC"], 1_672_531_200_000  # 2023-01-01T00:00Z, 09:00 in Seoul
    asked = {"market": "KRW-BTC", "count": 200}
    found = (await client.get(f"{HOST}/v1/candles/minutes/1", to="2023-01-01 09:00:00", **asked)).json
    assert found == (await client.get(f"{HOST}/v1/candles/minutes/1", to="2023-01-01T09:00:00Z", **asked)).json
    true = [(start, *rest) for start, _, *rest in bars(world, row, end, 200)]
    parsed = [
        (
            ccxt.Exchange.parse8601(one["candle_date_time_utc"]),
            *(one[name] for name in ("opening_price", "high_price", "low_price", "trade_price")),
            one["candle_acc_trade_volume"],
        )
        for one in found
    ]
    for got, expected in zip(parsed, reversed(true), strict=True):
        assert got == pytest.approx(expected, rel=1e-6)
    days = (await client.get(f"{HOST}/v1/candles/days", to="2023-01-01 00:00:00", market="KRW-BTC", count=2)).json
    assert [day["candle_date_time_kst"] for day in days] == ["2022-12-31T00:00:00", "2022-12-30T00:00:00"]
    hours = (await client.get(f"{HOST}/v1/candles/minutes/60", to="2023-01-01 00:00:00", **asked)).json
    assert days[0]["trade_price"] == hours[0]["trade_price"]
    assert days[0]["opening_price"] == hours[23]["opening_price"]
    assert days[0]["high_price"] == max(hour["high_price"] for hour in hours[:24])
    long = (await client.get(f"{HOST}/v1/candles/minutes/240", to="2023-01-01 00:00:00", **asked)).json
    assert {one["candle_date_time_kst"][11:13] for one in long} == {"00", "04", "08", "12", "16", "20"}


async def test_too_many_markets_and_unknown_ones_are_refused(client: SandboxClient) -> None:
    many = await client.get(f"{HOST}/v1/ticker", markets=",".join(["KRW-BTC"] * 201))
    assert (many.status, many.json["error"]["name"]) == (400, "400")
    assert (await client.get(f"{HOST}/v1/ticker", markets="KRW-NONE")).status == 404
    assert BITHUMB.fault is not None
    assert BITHUMB.fault('{"status":"5600","message":"Invalid Parameter"}') is not None
    assert BITHUMB.fault('{"error":{"name":"400","message":"no"}}') is not None
    assert BITHUMB.fault('{"status":"0000","data":{}}') is None
    assert BITHUMB.fault('[{"market":"KRW-BTC"}]') is None
