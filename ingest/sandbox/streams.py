"""The liquidation streams: which frames are due when, and the connections that they are sent to."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import orjson

from ingest.sandbox.clock import Clock
from ingest.sandbox.noise import fraction
from ingest.sandbox.universe import MINUTE_MS
from ingest.sandbox.world import World

BINANCE_WINDOW_MS, BYBIT_WINDOW_MS = 1000, 500
LONGEST_CATCH_UP_MS = 60 * MINUTE_MS
_PULSE_S = 0.1
_COIN_MARGINED = {"BTCUSDT": "BTCUSD_PERP", "ETHUSDT": "ETHUSD_PERP"}

Frame = tuple[int, str, bytes]  # due ms, topic, JSON text


def binance_sent(world: World, minute: int) -> list[int]:
    """Positions in the minute's liquidations that Binance shows: the latest per symbol and second."""
    found = world.liquidations(minute)
    latest: dict[tuple[int, int], int] = {}
    for n, (row, ts) in enumerate(zip(found.row.tolist(), found.ts.tolist(), strict=True)):
        if world.universe.listings[row].venue == "binance":
            latest[row, ts // BINANCE_WINDOW_MS] = n
    return sorted(latest.values())


def binance_frames(world: World, minute: int) -> list[Frame]:
    """forceOrder frames; like the venue since 2026-06-30 they mix USD-M (st 1) with COIN-M (st 2)."""
    found = world.liquidations(minute)
    frames: list[Frame] = []
    for n in binance_sent(world, minute):
        row, ts = int(found.row[n]), int(found.ts[n])
        one = world.universe.listings[row]
        price, lot = world.price_format[row], world.lot_format[row]
        due = (ts // BINANCE_WINDOW_MS + 1) * BINANCE_WINDOW_MS
        size, average = float(found.size[n]), float(found.price[n])
        long = bool(found.long[n])
        last = size if found.filled[n] < 0.45 else size * float(found.filled[n])
        order = {
            "s": one.symbol, "S": "SELL" if long else "BUY", "o": "LIMIT", "f": "IOC", "q": lot % size,
            "p": price % (average * (0.995 if long else 1.005)), "ap": price % average, "X": "FILLED",
            "l": lot % last, "z": lot % size, "T": ts,
        }  # fmt: skip
        frames.append((due, one.symbol, orjson.dumps({"e": "forceOrder", "E": due, "st": 1, "o": order})))
        if one.symbol in _COIN_MARGINED and fraction("coin margined", one.symbol, ts) < 0.3:
            contracts = str(max(1, round(size * average / 100)))
            other = order | {"s": _COIN_MARGINED[one.symbol], "ps": f"{one.base_raw}USD"}
            other |= {"q": contracts, "l": contracts, "z": contracts}
            frames.append((due, str(other["s"]), orjson.dumps({"e": "forceOrder", "E": due, "st": 2, "o": other})))
    return sorted(frames, key=lambda frame: frame[0])


def bybit_frames(world: World, minute: int) -> list[Frame]:
    """allLiquidation frames: all events of a symbol, pushed every 500 ms; S is the side of the position."""
    found = world.liquidations(minute)
    pushed: dict[tuple[int, int], list[dict[str, object]]] = {}
    for n, (row, ts) in enumerate(zip(found.row.tolist(), found.ts.tolist(), strict=True)):
        one = world.universe.listings[row]
        if one.venue != "bybit":
            continue
        due = (ts // BYBIT_WINDOW_MS + 1) * BYBIT_WINDOW_MS
        pushed.setdefault((due, row), []).append({
            "T": ts, "s": one.symbol, "S": "Buy" if found.long[n] else "Sell",
            "v": world.lot_format[row] % found.size[n], "p": world.price_format[row] % found.price[n],
        })  # fmt: skip
    frames = []
    for (due, row), data in sorted(pushed.items()):
        topic = f"allLiquidation.{world.universe.listings[row].symbol}"
        body = {"topic": topic, "type": "snapshot", "ts": due, "data": data}
        frames.append((due, topic, orjson.dumps(body)))
    return frames


@dataclass(slots=True, eq=False)
class Connection:
    """One WebSocket client: what it wants, and what waits to be sent to it."""

    venue: str
    path: str
    drop: Callable[[], None]
    topics: set[str] = field(default_factory=set)  # "*" means all
    combined: str = ""  # stream name of Binance's combined form
    waiting: asyncio.Queue[str] = field(default_factory=asyncio.Queue)

    def offer(self, topic: str, frame: bytes) -> None:
        """Queue a frame if the client has subscribed to it."""
        if "*" in self.topics or topic in self.topics:
            text = frame.decode()
            self.waiting.put_nowait(f'{{"stream":"{self.combined}","data":{text}}}' if self.combined else text)


class Hub:
    """All WebSocket connections, and the pulse that sends frames when they are due."""

    def __init__(self, world: World | None, clock: Clock) -> None:
        self.connections: set[Connection] = set()
        self._world = world
        self._clock = clock
        self._pulsing: asyncio.Task[None] | None = None

    def drop(self, wanted: Callable[[Connection], bool]) -> None:
        """Cut the matching connections off without a close frame."""
        for connection in [one for one in self.connections if wanted(one)]:
            connection.drop()

    def send_due(self, after_ms: int, until_ms: int) -> None:
        """Offer all frames that are due in (after, until]."""
        listeners = {venue: [one for one in self.connections if one.venue == venue] for venue in ("binance", "bybit")}
        if self._world is None or not any(listeners.values()):
            return
        for minute in range(after_ms // MINUTE_MS, (until_ms - 1) // MINUTE_MS + 1):
            for venue, frames in (("binance", binance_frames), ("bybit", bybit_frames)):
                for due, topic, frame in self._frames(venue, frames, minute) if listeners[venue] else ():
                    if after_ms < due <= until_ms:
                        for connection in listeners[venue]:
                            connection.offer(topic, frame)

    def _frames(self, venue: str, make: Callable[[World, int], list[Frame]], minute: int) -> list[Frame]:
        assert self._world is not None
        world = self._world
        return world.remembered(f"frames {venue}", minute, lambda at: make(world, at), 2)

    def start(self) -> None:
        """Begin to send, inside the running event loop."""
        self._pulsing = asyncio.create_task(self._pulse())

    def stop(self) -> None:
        """End the pulse and cut all connections off."""
        if self._pulsing is not None:
            self._pulsing.cancel()
        self.drop(lambda _: True)

    async def _pulse(self) -> None:
        """Follow the clock for ever; a jump back starts again from there, a long jump forward skips."""
        sent = self._clock.now_ms()
        while True:
            now = self._clock.now_ms()
            if now < sent or now - sent > LONGEST_CATCH_UP_MS:
                sent = now - min(MINUTE_MS, LONGEST_CATCH_UP_MS) if now > sent else now
            if now > sent:
                self.send_due(sent, now)
                sent = now
            await asyncio.sleep(_PULSE_S)
