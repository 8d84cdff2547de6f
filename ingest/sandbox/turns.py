"""Whose request is answered next, where one process stands in for many exchanges: what takes long stands back.

A year of bars takes a tenth of a second to make. When all venues are asked for their past at once, those answers would
come in a row, and the recorder's small requests behind them would wait for longer than they can.
"""

import asyncio
from heapq import heappop, heappush
from itertools import count
from typing import Any

LONG_S = 0.05
"""Seconds of CPU: more than any answer to the recorder's every minute, less than a year of bars."""
STANDS_BACK = 20
"""An answer's length is made up for so many times: the quick ones come first, and the longest at last."""


class Turns:
    """A connection whose last answer took long waits for its turn: one at a time, the quick ones first."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []
        self._number = count()
        self._calling: asyncio.Task[None] | None = None

    async def wait(self, connection: Any) -> None:
        """Return when the connection (Sanic's `conn_info.ctx`) may be answered."""
        last_s = getattr(connection, "last_s", 0.0)
        if last_s < LONG_S:
            return
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        heappush(self._waiting, (loop.time() + STANDS_BACK * last_s, next(self._number), turn))
        if self._calling is None:
            self._calling = asyncio.create_task(self._call())
        await turn

    async def _call(self) -> None:
        while self._waiting:
            turn = heappop(self._waiting)[-1]
            if not turn.done():
                turn.set_result(None)
                # It is answered in the loop's next round, and with it whoever does not wait.
                await asyncio.sleep(0)
                await asyncio.sleep(0)
        self._calling = None
