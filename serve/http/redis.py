"""Redis as what several workers and hosts share: request counters and finished answers.

Redis is never needed to answer: while it cannot be reached, each worker counts and keeps by itself.
"""

import logging
import time
from collections.abc import Awaitable
from typing import Any, TypeVar

from redis.asyncio import Redis
from redis.exceptions import RedisError

TIMEOUT_S = 0.5
# After a failure Redis is left alone for so long: a host that does not answer would hold up every request.
PAUSE_S = 2.0
PREFIX = "tidemark:"
T = TypeVar("T")
log = logging.getLogger("tidemark.serve")


class Shared:
    """A Redis server that may be away."""

    def __init__(self, url: str) -> None:
        self.redis: Any = Redis.from_url(url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S)
        self._away_until = 0.0
        self._failing = False

    async def count(self, key: str, ttl_s: int) -> int | None:
        """One more under `key`, which is forgotten after `ttl_s`; returns how many."""
        pipe = self.redis.pipeline(transaction=False).incr(PREFIX + key).expire(PREFIX + key, ttl_s)
        counted = await self._ask(pipe.execute())
        return counted[0] if counted else None

    async def peek(self, key: str) -> int | None:
        """How many there are under `key`."""
        value = await self._ask(self.redis.get(PREFIX + key))
        return int(value) if value else None

    async def get(self, key: str) -> bytes | None:
        """What is kept under `key`."""
        return await self._ask(self.redis.get(PREFIX + key))

    async def set(self, key: str, value: bytes, ttl_s: int) -> None:
        """Keep something for `ttl_s` seconds."""
        await self._ask(self.redis.set(PREFIX + key, value, ex=ttl_s))

    async def close(self) -> None:
        """Close the connections."""
        await self._ask(self.redis.aclose())

    async def _ask(self, question: Awaitable[T]) -> T | None:
        if time.monotonic() < self._away_until:
            if hasattr(question, "close"):
                question.close()
            return None
        try:
            answer = await question
        except (RedisError, OSError, TimeoutError) as error:
            self._away_until = time.monotonic() + PAUSE_S
            if not self._failing:
                log.warning("Redis cannot be reached, so this worker counts and keeps by itself: %s", error)
            self._failing = True
            return None
        if self._failing:
            log.warning("Redis answers again")
        self._failing = False
        return answer
