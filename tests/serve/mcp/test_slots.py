"""The slots of tool calls: four of a client, a fifth waits a while, others have their own."""

import asyncio

import pytest

from serve.contract.errors import ApiError
from serve.mcp.slots import MAX_CALLS, Slots


@pytest.mark.requirement("mcp:concurrent")
async def test_a_fifth_call_waits_for_a_slot_and_other_clients_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    slots, go_on = Slots(), asyncio.Event()
    inside: list[str] = []

    async def call(client: str) -> None:
        async with slots.of(client):
            inside.append(client)
            await go_on.wait()

    calls = [asyncio.create_task(call("one")) for _ in range(MAX_CALLS + 1)]
    await asyncio.sleep(0)
    other = asyncio.create_task(call("other"))
    await asyncio.sleep(0)
    assert inside == ["one"] * MAX_CALLS + ["other"]
    monkeypatch.setattr("serve.mcp.slots.WAIT_S", 0.0)
    with pytest.raises(ApiError, match="more than 4 calls at the same time") as refused:
        await call("one")
    assert (refused.value.status, refused.value.headers) == (429, {"retry-after": "1"})
    go_on.set()
    await asyncio.gather(*calls, other)
    assert sorted(inside) == ["one"] * (MAX_CALLS + 1) + ["other"]
