"""Rate limits and bans of a venue: the weight that may still be used in a window, and until when to send nothing."""

import asyncio
from collections import deque
from contextlib import suppress

from ingest.declaration.endpoint import Pool


class Budget:
    """Keeps the weight of all requests within its share of `pool.limit` in any `pool.window_s` seconds.

    A request counts from before it is sent until one window after its response: whenever in between the venue counts
    it, the limit holds. The share is `pool.history` for the backfill and the rest for the recorder.
    """

    def __init__(self, pool: Pool, *, history: bool = False) -> None:
        self.pool = pool
        self.limit = pool.history if history else pool.limit - pool.history
        self._used = 0
        self._leaving: deque[tuple[float, int]] = deque()
        self._turn = asyncio.Lock()
        self._given_back = asyncio.Event()

    def has_room(self, weight: int) -> bool:
        """Whether `take` would return at once."""
        return not self._turn.locked() and self._fits(weight, asyncio.get_running_loop().time())

    async def take(self, weight: int, deadline: float) -> bool:
        """Wait for room, in order of the calls; False if there is none before the deadline (loop time, s)."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(deadline):
                async with self._turn:
                    while not self._fits(weight, loop.time()):
                        if self._earliest(loop.time()) > deadline:
                            return False
                        self._given_back.clear()
                        with suppress(TimeoutError):
                            async with asyncio.timeout_at(self._leaving[0][0] if self._leaving else deadline):
                                await self._given_back.wait()
                    self._used += weight
                    return True
        except TimeoutError:
            return False

    def give_back(self, weight: int, *, sent: bool = True) -> None:
        """The request has ended: its weight is free one window from now, or at once if it was not sent."""
        if not sent:
            self._used -= weight
        else:
            self._leaving.append((asyncio.get_running_loop().time() + self.pool.window_s, weight))
        self._given_back.set()

    def _earliest(self, now: float) -> float:
        return self._leaving[0][0] if self._leaving else now + self.pool.window_s

    def _fits(self, weight: int, now: float) -> bool:
        while self._leaving and self._leaving[0][0] <= now:
            self._used -= self._leaving.popleft()[1]
        return self._used + weight <= self.limit


class Bans:
    """Until when (UTC epoch ms) nothing may be sent to a host or pool, and why."""

    def __init__(self) -> None:
        self._until: dict[str, tuple[int, str]] = {}

    def add(self, scope: str, until_ms: int, reason: str) -> None:
        """Note a ban or pause of a scope; a longer one remains in force."""
        if until_ms > self._until.get(scope, (0, ""))[0]:
            self._until[scope] = (until_ms, reason)

    def in_force(self, scopes: tuple[str, ...], now_ms: int) -> tuple[int, str] | None:
        """The longest ban of the scopes that is still in force, as (until_ms, reason)."""
        return max((ban for scope in scopes if (ban := self._until.get(scope)) and ban[0] > now_ms), default=None)
