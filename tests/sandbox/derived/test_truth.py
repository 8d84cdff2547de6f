"""The true values of the simulated market against the bodies that are served."""

from typing import Any

import pytest

from sandbox.market.listing import ANCHOR_MS
from tests.support.servers.sandbox_client import SandboxClient, sandbox

NOW = ANCHOR_MS + 37_500  # half a minute past a minute boundary


MINUTE = 60_000


FAPI, API = "/fapi.binance.com/fapi/v1", "/api.binance.com/api/v3"


BYBIT = "/api.bybit.com/v5/market"


@pytest.fixture
async def client() -> Any:
    async with sandbox(now_ms=NOW, universe="small") as one:
        yield one


async def test_tickers_bars_and_truth_agree(client: SandboxClient) -> None:
    for symbol in ("BTCUSDT", "1000PEPEUSDT"):
        asked = {"venue": "binance", "type": "perp", "symbol": symbol, "from": NOW - 5 * MINUTE, "to": NOW}
        truth = (await client.get("/_sandbox/truth", **asked)).json
        window = {"symbol": symbol, "interval": "1m", "startTime": NOW - 5 * MINUTE, "limit": 9}
        bars = (await client.get(f"{FAPI}/klines", **window)).json
        units = truth["units"]
        by_minute = {one["minute_ms"]: one for one in truth["minutes"]}
        for bar in bars[:-1]:
            minute = by_minute[bar[0]]
            assert float(bar[1]) / units == pytest.approx(minute["price"], rel=1e-9)
            assert float(bar[4]) / units == pytest.approx(minute["close"], rel=1e-9)
            assert float(bar[7]) == pytest.approx(minute["volume_usd"], abs=1e-4)
            assert float(bar[10]) == pytest.approx(minute["taker_buy_usd"], abs=1e-4)
        ticker = (await client.get(f"{FAPI}/ticker/24hr", symbol=symbol)).json
        assert bars[-1][4] == ticker["lastPrice"]
        now = by_minute[NOW // MINUTE * MINUTE]
        assert min(now["price"], now["close"]) <= float(ticker["lastPrice"]) / units <= max(now["price"], now["close"])
        held = (await client.get(f"{FAPI}/openInterest", symbol=symbol)).json
        assert float(held["openInterest"]) * units == pytest.approx(now["oi_base"], rel=1e-9)
        index = (await client.get(f"{FAPI}/premiumIndex", symbol=symbol)).json
        assert float(index["lastFundingRate"]) == pytest.approx(now["funding_rate"], abs=1e-8)
    row = (await client.get(f"{BYBIT}/tickers", category="linear", symbol="BTCUSDT")).json["result"]["list"][0]
    assert float(row["openInterest"]) == pytest.approx(2 * float(row["singleOpenInterest"]))
