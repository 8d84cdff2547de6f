"""Cached responses of the current edition, bounded in bytes; simultaneous equal requests are computed once."""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
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
    """A response that is being made, and those who wait for it, each by a future of its own: a client that disconnects
    must not cancel it for the others."""

    making: asyncio.Future["StoredResponse"]
    waiting: list[asyncio.Future["StoredResponse"]] = field(default_factory=list)


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
        self._storing: set[asyncio.Task[None]] = set()

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
            redis = None if local else self.redis
            made = make() if redis is None else self._shared(key, make, redis)
            work = self._building[key] = _Work(asyncio.ensure_future(made))
            work.making.add_done_callback(partial(self._done, key, work))
        waiter: asyncio.Future[StoredResponse] = asyncio.get_running_loop().create_future()
        work.waiting.append(waiter)
        try:
            return await waiter
        finally:
            work.waiting.remove(waiter)
            if not work.waiting and self._building.get(key) is work:
                del self._building[key]  # Who asks now begins it again.
                work.making.cancel()

    async def _shared(
        self, key: str, make: Callable[[], Awaitable[StoredResponse]], redis: RedisStore
    ) -> StoredResponse:
        known = await redis.get(f"answer:{_short(key)}")
        if known:
            return load(known)
        made = await make()
        if len(made.data) <= SHARED_BYTES and "max-age" in made.headers["cache-control"]:
            await redis.set(f"answer:{_short(key)}", made.dump(), SHARED_S)
        return made

    def _done(self, key: str, work: _Work, making: asyncio.Future[StoredResponse]) -> None:
        if self._building.get(key) is work:
            del self._building[key]
        failed = asyncio.CancelledError() if making.cancelled() else making.exception()
        for waiter in work.waiting:
            if waiter.done():  # its client left at this moment
                continue
            if failed:
                waiter.set_exception(failed)
            else:
                waiter.set_result(making.result())
        if not failed and len(making.result().data) <= self.max_bytes // 2:
            self._keep(key, making.result())

    def _keep(self, key: str, made: StoredResponse) -> None:
        self._held[key] = made
        self.size += len(made.data) - self._sizes.pop(key, 0)
        self._sizes[key] = len(made.data)
        oldest = []
        while self.size > self.max_bytes:
            oldest.append(self._sizes.popitem(last=False))
            self.size -= oldest[-1][1]
        # After those who wait: the store's functions are coroutines.
        storing = asyncio.get_running_loop().create_task(self._store(key, made, [name for name, _ in oldest]))
        self._storing.add(storing)
        storing.add_done_callback(self._storing.discard)

    async def _store(self, key: str, made: StoredResponse, oldest: list[str]) -> None:
        if key in self._sizes:  # not cleared since
            await self.store.set(key, made)
        for name in oldest:
            await self.store.delete(name)

    async def clear(self) -> None:
        """Drop everything: a new edition is served."""
        self._sizes.clear()
        self.size = 0
        await self.store.clear()


def _short(key: str) -> str:
    return hashlib.blake2b(key.encode(), digest_size=20).hexdigest()
