"""Whose turn it is at the stand-ins: what takes long lets the others pass."""

import asyncio
from types import SimpleNamespace

from ingest.sandbox.listing import ANCHOR_MS
from ingest.sandbox.turns import LONG_S, Turns
from tests.sandbox_client import sandbox

YEAR = {"symbol": "BTCUSDT", "interval": "1d", "limit": "365"}


async def test_what_took_long_stands_back() -> None:
    """Nobody waits who was quick; of the others the quickest is first, and who is new does not wait."""
    turns, answered = Turns(), list[str]()

    async def ask(name: str, last_s: float | None) -> None:
        await turns.wait(SimpleNamespace() if last_s is None else SimpleNamespace(last_s=last_s))
        answered.append(name)

    asks: dict[str, float | None] = {"decade": 50.0, "year": 5.0, "month": 0.5, "new": None, "minute": LONG_S / 2}
    await asyncio.gather(*(ask(name, last_s) for name, last_s in asks.items()))
    assert answered == ["new", "minute", "month", "year", "decade"]


async def test_one_turn_at_a_time() -> None:
    """Between two that take long, whoever came meanwhile is answered."""
    turns, answered = Turns(), list[str]()

    async def quick() -> None:
        await turns.wait(SimpleNamespace(last_s=0.0))
        answered.append("quick")

    async def slow() -> None:
        await turns.wait(SimpleNamespace(last_s=1.0))
        answered.append("slow")
        tasks.append(asyncio.create_task(quick()))

    tasks = [asyncio.create_task(slow()) for _ in range(3)]
    while tasks:
        await tasks.pop(0)
    assert answered == ["slow", "quick"] * 3


async def test_a_connection_remembers_how_long_its_answer_took() -> None:
    async with sandbox(now_ms=ANCHOR_MS, universe="small") as client:
        waited = list[float]()
        wait = client.app.ctx.sandbox.turns.wait

        async def noted(connection: SimpleNamespace) -> None:
            waited.append(getattr(connection, "last_s", -1.0))
            await wait(connection)

        client.app.ctx.sandbox.turns.wait = noted
        for _ in range(2):
            assert len((await client.get("/fapi.binance.com/fapi/v1/klines", **YEAR)).json) == 365
        assert waited[0] == -1.0
        assert waited[1] > 0.0
