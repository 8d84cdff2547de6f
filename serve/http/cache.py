"""Finished answers of the current edition, bounded in bytes; equal questions asked at once are answered once."""

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

from serve.http.redis import Shared

MAX_BYTES = 32 * 1024 * 1024
# What workers share: for about as long as an edition lasts, and nothing huge.
SHARED_S, SHARED_BYTES = 120, 8 * 1024 * 1024


def encode_headers(headers: Mapping[str, str]) -> bytes:
    """Headers as HTTP/1.1 sends them, with an end of line before each."""
    return "".join(f"\r\n{name}: {value}" for name, value in headers.items()).encode()


@dataclass(frozen=True)
class Stored:
    """A body in one content coding, with the headers that belong to it."""

    data: bytes
    headers: dict[str, str]

    @cached_property
    def lines(self) -> bytes:
        """The headers of a 200 as they are sent."""
        return encode_headers({**self.headers, "content-length": str(len(self.data))})

    @cached_property
    def unchanged_lines(self) -> bytes:
        """The headers of a 304 as they are sent: those that do not describe a body."""
        return encode_headers({name: value for name, value in self.headers.items() if not name.startswith("content-")})

    def dump(self) -> bytes:
        """For another worker: the headers as one line of JSON, then the body."""
        return orjson.dumps(self.headers) + b"\n" + self.data


def load(text: bytes) -> Stored:
    """What `dump` wrote."""
    headers, _, data = text.partition(b"\n")
    return Stored(data, orjson.loads(headers))


class ResponseCache:
    """aiocache's memory store with the bound that it lacks (aiocache #429), and one build per key at a time.

    Keys begin with the edition, so an answer of one edition is never given for another. With `shared`, what another
    worker has made is taken from there, and what is made here is put there.
    """

    def __init__(self, max_bytes: int = MAX_BYTES, shared: Shared | None = None) -> None:
        self.shared = shared
        self.store: Any = SimpleMemoryCache(timeout=None)
        # What the store holds, and for as long as it does, found without waiting: its own `get` is a dozen calls.
        self._held: WeakValueDictionary[str, Stored] = WeakValueDictionary()
        self.max_bytes = max_bytes
        self.size = 0
        self._sizes: OrderedDict[str, int] = OrderedDict()
        self._building: dict[str, asyncio.Task[Stored]] = {}

    def get(self, key: str) -> Stored | None:
        """What is kept under `key`."""
        return self._held.get(key)

    async def build(self, key: str, make: Callable[[], Awaitable[Stored]], local: bool = False) -> Stored:
        """What is kept under `key`, or else made by one of those who ask; the others wait for that one.

        A failure is raised to everyone who waits and is not kept. `local`: of no use to other workers.
        """
        kept = self.get(key)
        if kept is not None:
            return kept
        task = self._building.get(key)
        if task is None:
            task = asyncio.create_task(self._make(key, make, None if local else self.shared))
            self._building[key] = task
            task.add_done_callback(lambda _: self._building.pop(key, None))
        # Shielded: a client that goes away must not take the answer from the others.
        return await asyncio.shield(task)

    async def _make(self, key: str, make: Callable[[], Awaitable[Stored]], shared: Shared | None) -> Stored:
        known = await shared.get(f"answer:{_short(key)}") if shared else None
        made = load(known) if known else await make()
        if shared and not known and len(made.data) <= SHARED_BYTES and "max-age" in made.headers["cache-control"]:
            await shared.set(f"answer:{_short(key)}", made.dump(), SHARED_S)
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
        """Forget everything (a new edition has come)."""
        self._sizes.clear()
        self.size = 0
        await self.store.clear()


def _short(key: str) -> str:
    return hashlib.blake2b(key.encode(), digest_size=20).hexdigest()
