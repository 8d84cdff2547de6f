"""How many tool calls of one client are computed at the same time, so that no client takes the turns of the others."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from serve.contract.errors import ApiError

MAX_CALLS = 4
# A call takes some ten milliseconds: a client with a few too many notices nothing.
WAIT_S = 2.0


class Slots:
    """The calls in progress in this worker, by client."""

    def __init__(self) -> None:
        # A client is remembered for as long as it has or awaits a slot.
        self._clients: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, client: str) -> AsyncIterator[None]:
        """A slot of this client's until the block ends; raises 429 if none becomes free."""
        slots = self._clients.setdefault(client, asyncio.Semaphore(MAX_CALLS))
        try:
            async with asyncio.timeout(WAIT_S):
                await slots.acquire()
        except TimeoutError:
            raise ApiError(429, f"more than {MAX_CALLS} calls at the same time", {"retry-after": "1"}) from None
        try:
            yield
        finally:
            slots.release()
