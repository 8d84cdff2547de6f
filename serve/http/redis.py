"""Redis, where several workers and hosts share request counters and cached responses.

No request depends on Redis: while it cannot be reached, each worker counts and caches by itself.
"""

import logging
import time
from collections.abc import Awaitable
from typing import Any, TypeVar

from redis.asyncio import Redis
from redis.exceptions import RedisError

TIMEOUT_S = 0.5
# No command for so long after a failure: a host that does not answer would delay every request.
PAUSE_S = 2.0
PREFIX = "tidemark:"
T = TypeVar("T")
log = logging.getLogger("tidemark.serve")


class RedisStore:
    """A Redis server that may be unreachable: then commands return None."""

    def __init__(self, url: str) -> None:
        self.client: Any = Redis.from_url(url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S)
        self._retry_at = 0.0
        self._failing = False

    async def count(self, key: str, ttl_s: int) -> int | None:
        """Increment the counter `key`, which expires after `ttl_s`; returns its value."""
        pipe = self.client.pipeline(transaction=False).incr(PREFIX + key).expire(PREFIX + key, ttl_s)
        counted = await self._run(pipe.execute())
        return counted[0] if counted else None

    async def uncount(self, key: str, ttl_s: int) -> int | None:
        """Decrement the counter `key`, to 0 at the least; returns its value."""
        pipe = self.client.pipeline(transaction=False).decr(PREFIX + key).expire(PREFIX + key, ttl_s)
        counted = await self._run(pipe.execute())
        return max(0, counted[0]) if counted else None

    async def peek(self, key: str) -> int | None:
        """The value of the counter `key`."""
        value = await self._run(self.client.get(PREFIX + key))
        return int(value) if value else None

    async def get(self, key: str) -> bytes | None:
        """The value of `key`."""
        return await self._run(self.client.get(PREFIX + key))

    async def set(self, key: str, value: bytes, ttl_s: int) -> None:
        """Store a value for `ttl_s` seconds."""
        await self._run(self.client.set(PREFIX + key, value, ex=ttl_s))

    async def close(self) -> None:
        """Close the connections."""
        await self._run(self.client.aclose())

    async def _run(self, command: Awaitable[T]) -> T | None:
        if time.monotonic() < self._retry_at:
            if hasattr(command, "close"):
                command.close()
            return None
        try:
            answer = await command
        except (RedisError, OSError, TimeoutError) as error:
            self._retry_at = time.monotonic() + PAUSE_S
            if not self._failing:
                log.warning("Redis cannot be reached, so this worker counts and caches by itself: %s", error)
            self._failing = True
            return None
        if self._failing:
            log.warning("Redis responds again")
        self._failing = False
        return answer
