"""Clients that follow the editions over a connection that stays open: how many there may be, and what wakes them."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterator

from serve.contract.errors import ApiError

# Of a worker, and of one address: as many as a person has windows, and a few programs behind one proxy.
MOST, MOST_OF_ADDRESS = 1000, 20
RETRY_AFTER_S = 60


class Followers:
    """The open connections. What waits is waked by a new edition, and by the end of the server."""

    def __init__(self) -> None:
        self.ended = False
        self._change = asyncio.Event()
        self._places: Counter[str] = Counter()

    @property
    def open(self) -> int:
        """The connections that are open now."""
        return self._places.total()

    @property
    def change(self) -> asyncio.Event:
        """Is set at the next change: to be taken before looking at the edition, so that none is missed."""
        return self._change

    def wake(self) -> None:
        """There is another edition, or none."""
        self._change.set()
        self._change = asyncio.Event()

    def end(self) -> None:
        """Let every connection end."""
        self.ended = True
        self.wake()

    @contextlib.contextmanager
    def place(self, address: str) -> Iterator[None]:
        """A place of this client's until the block ends; raises 429 or 503 if all are taken."""
        retry = {"retry-after": str(RETRY_AFTER_S)}
        if self._places[address] >= MOST_OF_ADDRESS:
            raise ApiError(429, f"more than {MOST_OF_ADDRESS} open connections of one address", retry)
        if self._places.total() >= MOST:
            raise ApiError(503, f"all {MOST} connections that stay open are taken", retry)
        self._places[address] += 1
        try:
            yield
        finally:
            self._places[address] -= 1
            if not self._places[address]:
                del self._places[address]
