"""Cached responses of the current edition, bounded in bytes; simultaneous equal requests are computed once."""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

import orjson
from aiocache import SimpleMemoryCache

from serve.http.redis import RedisStore

MAX_BYTES = 32 * 1024 * 1024
# Shared in Redis: for about as long as an edition is current, and no large bodies.
SHARED_S, SHARED_BYTES = 120, 8 * 1024 * 1024


def encode_headers(headers: Mapping[str, str]) -> bytes:
    """Headers as HTTP/1.1 sends them, with an end of line before each."""
    return "".join(f"\r\n{name}: {value}" for name, value in headers.items()).encode()


@dataclass(eq=False)
class _Work:
    """A response that is being made, and how many wait for it."""

    task: asyncio.Task["StoredResponse"]
    waiting: int = 0


@dataclass(frozen=True)
class StoredResponse:
    """A body in one content encoding, with its headers."""

    data: bytes
    headers: dict[str, str]

    @cached_property
    def lines(self) -> bytes:
        """The headers of a 200 as they are sent."""
        return encode_headers({**self.headers, "content-length": str(len(self.data))})

    @cached_property
    def not_modified_lines(self) -> bytes:
        """The headers of a 304 as they are sent: those that do not describe a body."""
        return encode_headers({name: value for name, value in self.headers.items() if not name.startswith("content-")})

    def dump(self) -> bytes:
        """As bytes for Redis: the headers as one line of JSON, then the body."""
        return orjson.dumps(self.headers) + b"\n" + self.data


def load(text: bytes) -> StoredResponse:
    """What `dump` wrote."""
    headers, _, data = text.partition(b"\n")
    return StoredResponse(data, orjson.loads(headers))


class ResponseCache:
    """aiocache's memory store with the size limit that it lacks (aiocache #429), and one computation per key at a time.

    Keys begin with the edition, so that a response of one edition is never served for another. With `redis`, workers
    share what they compute.
    """

    def __init__(self, max_bytes: int = MAX_BYTES, redis: RedisStore | None = None) -> None:
        self.redis = redis
        self.store: Any = SimpleMemoryCache(timeout=None)
        # Reads the store's dictionary without awaiting the store's `get`, which makes a dozen calls.
        self._held: WeakValueDictionary[str, StoredResponse] = WeakValueDictionary()
        self.max_bytes = max_bytes
        self.size = 0
        self._sizes: OrderedDict[str, int] = OrderedDict()
        self._building: dict[str, _Work] = {}

    def get(self, key: str) -> StoredResponse | None:
        """The cached response of `key`."""
        return self._held.get(key)

    async def build(
        self, key: str, make: Callable[[], Awaitable[StoredResponse]], local: bool = False
    ) -> StoredResponse:
        """The cached response of `key`; without one, the first caller computes it and the others wait for that.

        A failure is raised to all of them and not cached; what no client waits for any more is not made. `local`: not
        shared with other workers.
        """
        cached = self.get(key)
        if cached is not None:
            return cached
        work = self._building.get(key)
        if work is None:
            work = _Work(asyncio.create_task(self._make(key, make, None if local else self.redis)))
            self._building[key] = work
            work.task.add_done_callback(lambda _: self._forget(key, work))
        work.waiting += 1
        try:
            # Shielded: a client that disconnects must not cancel it for the others.
            return await asyncio.shield(work.task)
        finally:
            work.waiting -= 1
            if not work.waiting and not work.task.done():
                self._forget(key, work)  # Who asks now begins it again.
                work.task.cancel()

    def _forget(self, key: str, work: _Work) -> None:
        if self._building.get(key) is work:
            del self._building[key]

    async def _make(
        self, key: str, make: Callable[[], Awaitable[StoredResponse]], redis: RedisStore | None
    ) -> StoredResponse:
        known = await redis.get(f"answer:{_short(key)}") if redis else None
        made = load(known) if known else await make()
        if redis and not known and len(made.data) <= SHARED_BYTES and "max-age" in made.headers["cache-control"]:
            await redis.set(f"answer:{_short(key)}", made.dump(), SHARED_S)
        if len(made.data) <= self.max_bytes // 2:
            await self.store.set(key, made)
            self._held[key] = made
            self.size += len(made.data) - self._sizes.pop(key, 0)
            self._sizes[key] = len(made.data)
            while self.size > self.max_bytes:
                oldest, size = self._sizes.popitem(last=False)
                self.size -= size
                await self.store.delete(oldest)
        return made

    async def clear(self) -> None:
        """Drop everything: a new edition is served."""
        self._sizes.clear()
        self.size = 0
        await self.store.clear()


def _short(key: str) -> str:
    return hashlib.blake2b(key.encode(), digest_size=20).hexdigest()
