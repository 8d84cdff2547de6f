"""WebSocket connections of the simulator: recorded frames by topic, a clean end, and who is connected."""

import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from sandbox.market.listing import ANCHOR_MS
from tests.support.servers.sandbox_client import SandboxClient, sandbox

NOW = ANCHOR_MS + 37_500  # half a minute past a minute boundary
ORDERS = "/fstream.binance.com/market/ws/!forceOrder@arr"
PUBLIC = "/stream.bybit.com/v5/public/linear"


@pytest.fixture
async def client() -> Any:
    async with sandbox(now_ms=NOW, universe="small") as one:
        yield one


@pytest.fixture
async def replay(tmp_path: Path) -> Any:
    """A replay of two streams: one that the path alone subscribes to, one whose frames have topics."""
    pushes = [{"topic": f"allLiquidation.{symbol}", "data": []} for symbol in ("BTCUSDT", "ETHUSDT")]
    for name, frames in (("orders", [{"E": 1}, {"E": 2}]), ("pushes", pushes)):
        (tmp_path / f"{name}.ndjson").write_text("\n".join(map(json.dumps, frames)))
    entries = [
        {"venue": "binance", "path": "/market/ws/!forceOrder@arr", "frames": "orders.ndjson", "rate": 100},
        {"venue": "bybit", "path": "/v5/public/linear", "frames": "pushes.ndjson", "rate": 100},
    ]
    (tmp_path / "replay.json").write_text(json.dumps(entries))
    async with sandbox(mode="replay", replay_dir=tmp_path) as one:
        yield one


async def test_recorded_frames_are_sent_over_the_websocket(replay: SandboxClient) -> None:
    async with replay.session.ws_connect(replay.url + ORDERS) as ws:
        assert [(await ws.receive_json(timeout=10))["E"] for _ in range(2)] == [1, 2]
    async with replay.session.ws_connect(replay.url + PUBLIC) as ws:
        await ws.send_json({"op": "subscribe", "args": ["allLiquidation.ETHUSDT"]})
        assert (await ws.receive_json(timeout=10))["success"] is True
        assert (await ws.receive_json(timeout=10))["topic"] == "allLiquidation.ETHUSDT"


async def test_a_path_that_was_not_recorded_is_closed_with_its_name(replay: SandboxClient) -> None:
    async with replay.session.ws_connect(f"{replay.url}/stream.bybit.com/v5/public/spot") as ws:
        closed = await ws.receive(timeout=10)
    assert (closed.type, closed.data) == (aiohttp.WSMsgType.CLOSE, 4404)
    assert closed.extra == "no recorded stream at /v5/public/spot"


async def test_connections_are_listed_with_venue_path_and_topics(client: SandboxClient) -> None:
    async with client.session.ws_connect(client.url + PUBLIC) as ws:
        await ws.send_json({"op": "subscribe", "args": ["allLiquidation.BTCUSDT", "allLiquidation.ETHUSDT"]})
        assert (await ws.receive_json(timeout=10))["success"] is True
        health = (await client.get("/_sandbox/health")).json
    assert health["connections"] == [{"venue": "bybit", "path": "/v5/public/linear", "topics": 2}]


async def test_a_real_client_can_close_a_stream_cleanly(client: SandboxClient) -> None:
    ws = await client.session.ws_connect(client.url + ORDERS)
    await ws.close()
    assert ws.close_code == aiohttp.WSCloseCode.OK
