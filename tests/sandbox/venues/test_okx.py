"""OKX as it is simulated: any year of its past, what it refuses, and its limits."""

import json
from collections.abc import Callable
from typing import Any

from ingest.venues.okx import OKX
from sandbox.market.clock import Clock
from sandbox.market.listing import ANCHOR_MS
from sandbox.market.universe import build_universe
from sandbox.market.world import World, build_world
from sandbox.venues.okx import SIMULATED
from sandbox.wire.endpoint import Request
from tests.support.pipeline.warehouse import MINUTE
from tests.support.servers.sandbox_client import sandbox

NOW_MS = ANCHOR_MS + 4_321  # on the five minutes, so that everything is due
DAY_MS = 86_400_000


def asking(world: World) -> Callable[..., Any]:
    by_path = {endpoint.path.removeprefix("/api/v5/"): endpoint for endpoint in SIMULATED.endpoints(world)}

    def asked(path: str, **query: Any) -> Any:
        ask = Request({name: str(value) for name, value in query.items()}, None, NOW_MS)
        return json.loads(by_path[path].respond(ask).body)

    return asked


def test_history_of_any_year_and_the_venues_refusals() -> None:
    asked = asking(build_world(build_universe("full"), 1, Clock(fixed_ms=NOW_MS)))
    long_ago = NOW_MS - 3 * 365 * DAY_MS
    page = asked("market/history-candles", instId="BTC-USDT-SWAP", bar="1m", after=long_ago, limit=300)["data"]
    times = [int(bar[0]) for bar in page]
    assert (len(page), times) == (300, sorted(times, reverse=True))
    assert long_ago - MINUTE <= times[0] < long_ago
    assert {bar[8] for bar in page} == {"1"}
    newer = asked("market/history-candles", instId="BTC-USDT-SWAP", after=long_ago, before=times[10])["data"]
    assert [int(bar[0]) for bar in newer] == times[:10]
    assert asked("market/candles", instId="BTC-USDT-SWAP", after=NOW_MS - 2 * DAY_MS)["data"] == []
    history = asked("public/funding-rate-history", instId="BTC-USDT-SWAP", limit=400)["data"]
    assert 3 * 88 < len(history) <= 3 * 92 + 1
    before = asked("public/funding-rate-history", instId="BTC-USDT-SWAP", before=history[5]["fundingTime"])["data"]
    assert before == history[:5]
    held = asked("rubik/stat/contracts/open-interest-history", instId="BTC-USDT-SWAP", period="1H", limit=100)["data"]
    assert [len(row) for row in held] == [4] * 100
    ratio = "rubik/stat/contracts/long-short-account-ratio-contract"
    page = asked(ratio, instId="BTC-USDT-SWAP", period="1H", end=held[50][0], begin=held[60][0])["data"]
    assert [row[0] for row in page] == [row[0] for row in held[51:60]]
    states = {row["state"] for row in asked("public/instruments", instType="SWAP")["data"]}
    assert states >= {"live", "preopen"}
    contracts = [float(row["ctVal"]) for row in asked("public/instruments", instType="SWAP")["data"] if row["ctVal"]]
    assert min(contracts) <= 0.01
    assert max(contracts) >= 1e9
    assert asked("market/candles", instId="NONE-USDT")["code"] == "51001"
    assert asked("market/tickers")["code"] == "50014"
    assert asked(ratio, instId="BTC-USD-SWAP")["code"] == "51001"


async def test_a_paths_rate_limit_returns_429_and_the_declaration_stays_below_it() -> None:
    async with sandbox(now_ms=NOW_MS, rate_limits=True) as venue:
        url = "/www.okx.com/api/v5/public/mark-price"
        answers = [await venue.get(url, instType="SWAP") for _ in range(25)]
        refused = next(one for one in answers if one.status == 429)
        assert refused.json["code"] == "50011"
        elsewhere = await venue.get("/www.okx.com/api/v5/market/tickers", instType="SWAP")
        assert elsewhere.status == 200
    assert OKX.fault is not None
    assert OKX.fault(refused.text) == "code 50011: Too Many Requests"
    assert OKX.fault(elsewhere.text) is None
