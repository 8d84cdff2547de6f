"""Liquidation frames: exactly the liquidations that the simulated truth marks as sent."""

from typing import Any

import pytest

from sandbox.market.listing import ANCHOR_MS
from tests.support.servers.sandbox_client import SandboxClient, sandbox

NOW = ANCHOR_MS + 37_500  # half a minute past a minute boundary


MINUTE = 60_000


@pytest.fixture
async def client() -> Any:
    async with sandbox(now_ms=NOW, universe="small") as one:
        yield one


async def test_streams_send_exactly_the_liquidations_marked_as_sent(client: SandboxClient) -> None:
    seen: list[dict[str, Any]] = []
    stream = client.url + "/fstream.binance.com/market/stream?streams=!forceOrder@arr"
    async with client.session.ws_connect(stream) as ws:
        await client.clock(NOW + 20 * MINUTE)
        while not seen or seen[-1]["E"] < NOW + 19 * MINUTE:
            frame = await ws.receive_json(timeout=10)
            assert frame["stream"] == "!forceOrder@arr"
            seen.append(frame["data"])
    until = seen[-1]["E"] // MINUTE * MINUTE
    asked = {"venue": "binance", "type": "perp", "symbol": "BTCUSDT", "from": NOW // MINUTE * MINUTE, "to": until}
    truth = (await client.get("/_sandbox/truth", **asked)).json
    want = [(one["ts"], one["side"], round(one["usd"], 2)) for one in truth["liquidations"]
            if one["sent"] and NOW < one["ts"] // 1000 * 1000 + 1000 <= until]  # fmt: skip
    got = [(o["T"], "long" if o["S"] == "SELL" else "short", round(float(o["z"]) * float(o["ap"]), 2))
           for one in seen if one["st"] == 1 and one["E"] <= until and (o := one["o"])["s"] == "BTCUSDT"]  # fmt: skip
    assert got == want
    assert {one["st"] for one in seen} == {1, 2}
