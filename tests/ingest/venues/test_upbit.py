"""Upbit: staging of real bodies, checked by two independent computations; the simulator; a recorded minute."""

from pathlib import Path
from typing import Any

import ccxt
import pytest

from ingest.venues.upbit import COVERED
from sandbox.market.listing import ANCHOR_MS
from tests.ingest.venues.conftest import NOW_MS, FirstMinute
from tests.support.facts.spot_truth import (
    assert_bars_are_true,
    bars,
    rows_of,
)
from tests.support.pipeline.warehouse import MINUTE, Warehouse, response, seeded
from tests.support.recordings.captures import logged, sample
from tests.support.recordings.conformance import differences
from tests.support.recordings.recorded import read
from tests.support.servers.sandbox_client import SandboxClient, sandbox

AT_MS = 1_790_000_000_000 // MINUTE * MINUTE
NOW = ANCHOR_MS + 7 * 3_600_000 + 37_500
HOST = "/api.upbit.com/v1"


@pytest.fixture(scope="module")
def upbit(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return seeded(tmp_path_factory.mktemp("upbit"))


@pytest.fixture
async def client() -> Any:
    async with sandbox(now_ms=NOW) as one:
        yield one


def bodies(folder: Path) -> tuple[list[Any], list[Any]]:
    """Recorded market lists of 2019 and 2021, and tickers of 2019 and 2026."""
    kept = read(folder / "spot_tickers.coinranking2019.json.gz")
    lists = [one["response"] for one in kept if one["path"] == "/v1/market/all"]
    lists.append(logged(folder / "cryptofeed/UPBIT.0.txt", "https://api.upbit.com/v1/market/all"))
    tickers = [one["response"] for one in kept if one["path"].startswith("/v1/ticker")]
    return lists, [*tickers, read(folder / "v1_ticker_KRW-BTC.2026-08-30.json")]


def test_recorded_bodies_read_as_ccxt_reads_them(recordings: Path, upbit: Warehouse) -> None:
    lists, tickers = bodies(recordings / "upbit")
    rows = [response(AT_MS + n * MINUTE, "upbit", "spot_instruments", body) for n, body in enumerate(lists)]
    rows += [response(AT_MS + n * MINUTE, "upbit", "spot_tickers", body) for n, body in enumerate(tickers)]
    upbit.build(rows, "raw_window")
    expected = [
        (AT_MS + n * MINUTE, one["market"], one["market"][4:], "KRW", "trading", None)
        for n, body in enumerate(lists)
        for one in body
        if one["market"][:4] == "KRW-"
    ]
    query = "select tick_ms, symbol, base_raw, quote, status, reject from stg_upbit__spot_instruments order by all"
    assert upbit.rows(query) == sorted(expected)
    assert len(expected) > 200
    parser, priced = ccxt.upbit(), []
    for n, body in enumerate(tickers):
        for row in body:
            if row["market"].startswith("KRW-"):
                one = parser.parse_ticker(row)
                priced.append((AT_MS + n * MINUTE, row["market"], one["last"], one["quoteVolume"]))
    query = "select tick_ms, symbol, last_price, vol24h_quote from stg_upbit__spot_tickers order by all"
    assert upbit.rows(query) == sorted(priced)
    assert len(priced) > 80
    assert upbit.rows("select * from stg_upbit__spot_tickers where reject is not null") == []


async def test_simulated_bodies_have_the_recorded_structure(client: SandboxClient, recordings: Path) -> None:
    lists, tickers = bodies(recordings / "upbit")
    ours = (await client.get(f"{HOST}/ticker/all", quote_currencies="KRW")).json
    won = [row for body in tickers for row in body if row["market"].startswith("KRW-")]
    assert differences(won, ours) == []
    assert differences(tickers[-1], (await client.get(f"{HOST}/ticker", markets="KRW-BTC")).json) == []
    assert differences(lists[-1], (await client.get(f"{HOST}/market/all")).json) == []
    documented = sample(recordings / "upbit", "GetSymbols.txt")
    detailed = (await client.get(f"{HOST}/market/all", is_details="true")).json
    assert differences(documented, detailed, ignored={"korean_name"}) == []
    candle = sample(recordings / "upbit", "GetKlines.txt")
    ours = (await client.get(f"{HOST}/candles/minutes/1", market="KRW-BTC", count=5)).json
    assert differences(candle, ours, optional={"unit"}) == []


def test_bars_are_asked_of_the_covered_and_the_busiest(first_minute: FirstMinute) -> None:
    reported = first_minute.warehouse.rows("select symbol, last_price, vol24h_quote from stg_upbit__spot_tickers")
    others = sorted((volume, symbol) for symbol, _, volume in reported if symbol not in COVERED)
    wanted = {*COVERED, *(symbol for _, symbol in others[-20:])}
    assert_bars_are_true(first_minute.warehouse, "upbit", first_minute.world, NOW_MS, wanted)


async def test_history_reaches_years_back_and_ends_before_its_end(client: SandboxClient) -> None:
    world = client.app.ctx.sandbox.world
    row, end = rows_of(world, "upbit", NOW)["KRW-BTC"], 1_672_531_200_000  # 2023-01-01
    asked = {"market": "KRW-BTC", "count": 200}
    one, offset, open_ended = [
        (await client.get(f"{HOST}/candles/minutes/1", to=to, **asked)).json
        for to in ("2023-01-01T00:00:00Z", "2023-01-01T09:00:00+09:00", "2023-01-01 00:00:00")
    ]
    assert one == offset == open_ended
    parsed = [tuple(ccxt.upbit().parse_ohlcv(candle)) for candle in one]
    true = [(start, *rest) for start, _, *rest in bars(world, row, end, 200)]
    for got, expected in zip(parsed, reversed(true), strict=True):
        assert got == pytest.approx(expected, rel=1e-6)
    hours = (await client.get(f"{HOST}/candles/minutes/60", to="2023-01-01T00:00:00Z", **asked)).json
    assert [hours[0]["candle_date_time_utc"], len(hours)] == ["2022-12-31T23:00:00", 200]
    days = (await client.get(f"{HOST}/candles/days", market="KRW-BTC", to="2023-01-01T00:00:00Z", count=3)).json
    assert [day["candle_date_time_utc"] for day in days] == [f"2022-12-{n}T00:00:00" for n in (31, 30, 29)]
    assert days[0]["trade_price"] == one[0]["trade_price"]


async def test_a_minute_without_a_trade_has_no_row() -> None:
    async with sandbox(now_ms=NOW, universe="full") as client:
        world = client.app.ctx.sandbox.world
        markets = rows_of(world, "upbit", NOW)
        symbol, row = min(markets.items(), key=lambda item: world.universe.volume_usd[item[1]])
        found = (await client.get(f"{HOST}/candles/minutes/1", market=symbol, count=200)).json
        assert len(found) == 200
        turnover = world.bars(row, NOW // MINUTE - 3000, 3000).quote_volume[0]
        traded = [NOW // MINUTE - 3000 + n for n, won in enumerate(turnover.tolist()) if won >= 5000]
        assert len(traded) < 3000
        stamps = [ccxt.Exchange.parse8601(one["candle_date_time_utc"]) // MINUTE for one in found[1:]]
        assert stamps[:100] == traded[::-1][: len(stamps[:100])]


async def test_the_limit_is_ten_a_second_in_each_group(client: SandboxClient) -> None:
    answers = [await client.get(f"{HOST}/ticker", markets="KRW-BTC") for _ in range(11)]
    refused = [answer for answer in answers if answer.status == 429]
    assert answers[0].headers["Remaining-Req"] == "group=ticker; min=600; sec=9"
    # The real second may end between the requests.
    assert len(refused) <= 1
    assert all(answer.json["error"]["name"] == "too_many_requests" for answer in refused)
    assert (await client.get(f"{HOST}/market/all")).status == 200
    unknown = await client.get(f"{HOST}/ticker", markets="KRW-NONE")
    assert unknown.status in (404, 429)
