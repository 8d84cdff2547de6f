"""Candles of any interval: the same in the past as live, and made of their minutes."""

from typing import Any

import pytest

from sandbox.market.listing import ANCHOR_MS
from tests.support.servers.sandbox_client import SandboxClient, sandbox

NOW = ANCHOR_MS + 37_500  # half a minute past a minute boundary


MINUTE = 60_000


FAPI, API = "/fapi.binance.com/fapi/v1", "/api.binance.com/api/v3"


@pytest.fixture
async def client() -> Any:
    async with sandbox(now_ms=NOW, universe="small") as one:
        yield one


async def test_klines_of_the_past_equal_those_seen_live(client: SandboxClient) -> None:
    live = (await client.get(f"{FAPI}/klines", symbol="ETHUSDT", interval="1m", limit=3)).json[:2]
    await client.clock(NOW + 400 * 86_400_000)
    later = (await client.get(f"{FAPI}/klines", symbol="ETHUSDT", interval="1m", startTime=live[0][0], limit=2)).json
    assert later == live
    hour = live[0][0] // 3_600_000 * 3_600_000 - 3_600_000
    minutes = (await client.get(f"{FAPI}/klines", symbol="ETHUSDT", interval="1m", startTime=hour, limit=60)).json
    whole = (await client.get(f"{FAPI}/klines", symbol="ETHUSDT", interval="1h", startTime=hour, limit=1)).json[0]
    assert (whole[1], whole[4]) == (minutes[0][1], minutes[-1][4])
    assert float(whole[2]) == max(float(bar[2]) for bar in minutes)
    assert float(whole[7]) == pytest.approx(sum(float(bar[7]) for bar in minutes))
