"""The WebSocket streams: the liquidations in a venue's frames, and the connections that receive them."""

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any
from uuid import uuid4

import orjson

from sandbox.market.clock import Clock
from sandbox.market.listing import Listing
from sandbox.market.universe import MINUTE_MS
from sandbox.market.world import World

LONGEST_CATCH_UP_MS = 60 * MINUTE_MS
_PULSE_S = 0.1

Frame = tuple[int, str, bytes]  # due ms, topic, JSON text
_due = itemgetter(0)


@dataclass(frozen=True, slots=True)
class Liquidation:
    """One liquidation; size in raw base units, price in quote per raw base unit."""

    row: int
    listing: Listing
    ts: int
    long: bool  # the side of the position that was liquidated
    size: float
    price: float
    filled: float  # share of the last fill in the size, for venues that show it


def liquidations_of(world: World, venue: str, minute: int, window_ms: int = 0) -> list[Liquidation]:
    """The venue's liquidations of a minute in order of time; with a window only the latest of a market in each."""
    found = world.liquidations(minute)
    columns = (found.row, found.ts, found.long, found.size, found.price, found.filled)
    listings = world.universe.listings
    events: dict[tuple[int, int], Liquidation] = {}
    for number, (row, *rest) in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        if listings[row].venue != venue:
            continue
        one = Liquidation(row, listings[row], *rest)
        key = (row, one.ts // window_ms) if window_ms else (row, -number - 1)
        events.pop(key, None)
        events[key] = one
    return list(events.values())


@dataclass(slots=True, eq=False)
class Connection:
    """One WebSocket client: its topics, and the frames that wait to be sent."""

    venue: str
    path: str
    drop: Callable[[], None]
    topics: set[str] = field(default_factory=set)  # "*" means all
    wrap: Callable[[str, str], str] | None = None  # (topic, text) → the text in the form this client has chosen
    id: str = field(default_factory=lambda: str(uuid4()))
    waiting: asyncio.Queue[str] = field(default_factory=asyncio.Queue)

    def offer(self, topic: str, frame: bytes) -> None:
        """Queue a frame if the client has subscribed to it."""
        if "*" in self.topics or topic in self.topics:
            text = frame.decode()
            self.waiting.put_nowait(self.wrap(topic, text) if self.wrap else text)


Reply = Callable[[Connection, str], str | None]
"""The venue's reply to a client's message, or None; it changes the connection's topics."""


def message(text: Any) -> dict[str, Any]:
    """A client's message as a JSON object; empty if it is none."""
    try:
        value = orjson.loads(text)
    except (orjson.JSONDecodeError, TypeError):
        return {}
    return value if isinstance(value, dict) else {}


class Hub:
    """All WebSocket connections, and the task that sends frames when they are due."""

    def __init__(
        self, world: World | None, clock: Clock, frames: Mapping[str, Callable[[World, int], list[Frame]]]
    ) -> None:
        self.connections: set[Connection] = set()
        self._world = world
        self._clock = clock
        self._makers = frames
        self._sent_ms = clock.now_ms()
        self._pulsing: asyncio.Task[None] | None = None

    def drop(self, wanted: Callable[[Connection], bool]) -> None:
        """Reset the matching connections without a close frame."""
        for connection in [one for one in self.connections if wanted(one)]:
            connection.drop()

    def send_due(self, after_ms: int, until_ms: int) -> None:
        """Offer all frames that are due in (after, until], those of a venue in the order of their times."""
        if self._world is None:
            return
        listeners: dict[str, list[Connection]] = {}
        for connection in self.connections:
            listeners.setdefault(connection.venue, []).append(connection)
        for venue in listeners.keys() & self._makers:
            # A frame may be due up to a minute after its own minute.
            for minute in range(after_ms // MINUTE_MS - 1, (until_ms - 1) // MINUTE_MS + 1):
                frames = self._frames(venue, minute)
                first = bisect_right(frames, after_ms, key=_due)
                for _, topic, frame in frames[first : bisect_right(frames, until_ms, lo=first, key=_due)]:
                    for connection in listeners[venue]:
                        connection.offer(topic, frame)

    def _frames(self, venue: str, minute: int) -> list[Frame]:
        assert self._world is not None
        world, make = self._world, self._makers[venue]
        return world.remembered(f"frames {venue}", minute, lambda at: sorted(make(world, at), key=_due), 3)

    def start(self) -> None:
        """Start to send, inside the running event loop."""
        self._pulsing = asyncio.create_task(self._pulse())

    def stop(self) -> None:
        """Stop sending and reset all connections."""
        if self._pulsing is not None:
            self._pulsing.cancel()
        self.drop(lambda _: True)

    async def _pulse(self) -> None:
        while True:
            self.follow()
            await asyncio.sleep(_PULSE_S)

    def follow(self) -> None:
        """Send the frames up to the clock's time; a jump back continues there, a long jump forward skips frames."""
        now, sent = self._clock.now_ms(), self._sent_ms
        if now < sent:
            sent = now
        elif now - sent > LONGEST_CATCH_UP_MS:
            sent = now - MINUTE_MS
        if now > sent:
            self.send_due(sent, now)
        self._sent_ms = now
