"""The sandbox's own paths: clock, faults and truth, with clear errors."""

from typing import Any

import pytest

from sandbox.market.listing import ANCHOR_MS
from tests.support.servers.sandbox_client import SandboxClient, sandbox


@pytest.fixture
async def client() -> Any:
    async with sandbox(now_ms=ANCHOR_MS, universe="small") as one:
        yield one


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        ({"kind": "nope", "venue": "binance"}, "kind"),
        ({"kind": "outage"}, "venue"),
        ({"kind": "slow", "venue": "binance", "delay_s": "x"}, "delay_s"),
        ({"kind": "slow", "venue": "binance", "retry_after": 1}, "retry_after"),
        ({"kind": "changed_field", "venue": "binance", "field": "x"}, "rename"),
        ({"kind": "changed_field", "venue": "binance", "field": "x", "as": "null", "times": 2}, "one of"),
        ({"kind": "changed_field", "venue": "binance", "field": "x", "times": "2"}, "times"),
        ({"kind": "changed_field", "venue": "binance", "field": "x", "times": 2, "where": "y"}, "where"),
        ([], "object"),
    ],
)
async def test_a_wrong_fault_is_refused_with_its_reason(client: SandboxClient, fault: Any, word: str) -> None:
    got = await client.post("/_sandbox/faults", fault)
    assert got.status == 400
    assert word in got.json["error"]


async def test_the_clock_is_moved_and_the_truth_is_asked_with_clear_errors(client: SandboxClient) -> None:
    await client.clock(ANCHOR_MS + 60_000)
    assert (await client.get("/_sandbox/health")).json["clock"]["now_ms"] == ANCHOR_MS + 60_000
    got = await client.post("/_sandbox/clock", {"now_ms": "soon"})
    assert (got.status, "now_ms" in got.json["error"]) == (400, True)
    assert (await client.post("/_sandbox/clock", {"mode": "wall"})).json["mode"] == "wall"
    got = await client.get("/_sandbox/truth", venue="binance")
    assert (got.status, "symbol" in got.json["error"]) == (400, True)
    asked = {"venue": "binance", "type": "perp", "symbol": "NOPE", "from": 0, "to": 60_000}
    assert (await client.get("/_sandbox/truth", **asked)).status == 404
