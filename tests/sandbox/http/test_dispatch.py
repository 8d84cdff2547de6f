"""From a request to a venue's answer: faults first, then rate limits, then the body."""

from typing import Any

import aiohttp
import pytest

from sandbox.market.listing import ANCHOR_MS
from tests.support.servers.sandbox_client import SandboxClient, sandbox

BINANCE, BYBIT = "/fapi.binance.com/fapi/v1/openInterest?symbol=BTCUSDT", "/api.bybit.com/v5/market/kline"


STREAM = "/fstream.binance.com/market/ws/!forceOrder@arr"


@pytest.fixture
async def client() -> Any:
    async with sandbox(now_ms=ANCHOR_MS, universe="small") as one:
        yield one


async def test_an_outage_closes_connections_of_that_venue_alone(client: SandboxClient) -> None:
    ws = await client.session.ws_connect(client.url + STREAM)
    identity = await client.switch_on(kind="outage", venue="binance")
    with pytest.raises(aiohttp.ClientError):
        await client.get(BINANCE)
    assert (await ws.receive(timeout=10)).type in (aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR)
    with pytest.raises(aiohttp.ClientError):
        await client.session.ws_connect(client.url + STREAM)
    assert (await client.get(BYBIT, symbol="BTCUSDT", interval="1")).json["retCode"] == 0
    assert (await client.delete(f"/_sandbox/faults?id={identity}")).json == {"removed": 1}
    assert (await client.get(BINANCE)).status == 200
    await (await client.session.ws_connect(client.url + STREAM)).close()


async def test_a_slow_venue_keeps_its_client_waiting(client: SandboxClient) -> None:
    await client.switch_on(kind="slow", venue="binance", delay_s=30)
    with pytest.raises(TimeoutError):
        await client.session.get(client.url + BINANCE, timeout=aiohttp.ClientTimeout(total=0.3))
    assert (await client.get(BYBIT, symbol="BTCUSDT", interval="1")).status == 200


async def test_a_truncated_body_is_broken_json_or_a_broken_connection(client: SandboxClient) -> None:
    whole = (await client.get(BINANCE)).text
    identity = await client.switch_on(kind="truncated", venue="binance")
    cut = await client.get(BINANCE)
    assert cut.status == 200
    assert cut.text == whole[: len(whole) // 2]
    await client.delete(f"/_sandbox/faults?id={identity}")
    await client.switch_on(kind="truncated", venue="binance", cut=True)
    with pytest.raises(aiohttp.ClientPayloadError):
        await client.get(BINANCE)
