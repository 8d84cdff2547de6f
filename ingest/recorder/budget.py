"""Rate limits and bans of a venue: the weight that may still be used in a window, the bytes that are still taken in a
minute, and until when to send nothing."""

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

    @property
    def left(self) -> int:
        """The weight that is free now."""
        self._fits(0, asyncio.get_running_loop().time())
        return self.limit - self._used

    def _earliest(self, now: float) -> float:
        return self._leaving[0][0] if self._leaving else now + self.pool.window_s

    def _fits(self, weight: int, now: float) -> bool:
        while self._leaving and self._leaving[0][0] <= now:
            self._used -= self._leaving.popleft()[1]
        return self._used + weight <= self.limit


class Bytes:
    """The bytes that are taken in a minute of the clock: no venue fills the memory or the disk of all."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._minute = 0
        self._taken = 0

    def take(self, size: int, at_ms: int) -> bool:
        """Count bytes that were received; True if they are more than the minute's."""
        minute = at_ms // 60_000
        self._taken = size + (self._taken if minute == self._minute else 0)
        self._minute = minute
        return self._taken > self.limit

    def spent(self, at_ms: int) -> bool:
        """Whether nothing more is taken in this minute."""
        return at_ms // 60_000 == self._minute and self._taken > self.limit

    def __str__(self) -> str:
        return f"more than {self.limit >> 20} MB were sent in this minute"


def until_next_minute_s(at_ms: int) -> float:
    """Seconds from a time (UTC epoch ms) until the next minute of the clock, in which bytes are taken again."""
    return (60_000 - at_ms % 60_000) / 1000


PROBE_MS = 60_000
"""After a pause that was cut, others wait this long for the one request that asks whether it is over."""


class Bans:
    """Until when (UTC epoch ms) nothing may be sent to a host or pool, and why.

    A pause that was asked for may be `capped`: then one request goes first, and the rest follow if it is answered."""

    def __init__(self) -> None:
        self._until: dict[str, tuple[int, str]] = {}
        self._capped: set[str] = set()

    def add(self, scope: str, until_ms: int, reason: str, *, capped: bool = False) -> None:
        """Note a ban or pause of a scope; a longer one remains in force."""
        if until_ms > self._until.get(scope, (0, ""))[0]:
            self._until[scope] = (until_ms, reason)
            self._capped.discard(scope)
            if capped:
                self._capped.add(scope)

    def probe(self, scopes: tuple[str, ...], now_ms: int) -> None:
        """A request is about to be sent: of a capped pause that has passed it is the first, for which others wait."""
        for scope in self._capped.intersection(scopes):
            self._until[scope] = (now_ms + PROBE_MS, f"{self._until[scope][1]}; asked again")

    def lift(self, scopes: tuple[str, ...]) -> None:
        """A request was answered: a capped pause is over."""
        for scope in self._capped.intersection(scopes):
            self._capped.discard(scope)
            del self._until[scope]

    def in_force(self, scopes: tuple[str, ...], now_ms: int) -> tuple[int, str] | None:
        """The longest ban of the scopes that is still in force, as (until_ms, reason)."""
        return max((ban for scope in scopes if (ban := self._until.get(scope)) and ban[0] > now_ms), default=None)

    def longest_ms(self, now_ms: int) -> int:
        """For how long the longest ban of any scope goes on; 0 without one."""
        return max((until_ms - now_ms for until_ms, _ in self._until.values() if until_ms > now_ms), default=0)
