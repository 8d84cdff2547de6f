"""Candles of any interval out of the simulated one-minute bars; shared by the venues' candle endpoints."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ingest.sandbox.market import Bars
from ingest.sandbox.noise import Floats, Ints
from ingest.sandbox.universe import MINUTE_MS
from ingest.sandbox.world import World

INTERVALS = {
    "1m": 1, "3m": 3, "5m": 5, "15m": 15, "30m": 30, "1h": 60, "2h": 120, "4h": 240, "6h": 360, "8h": 480,
    "12h": 720, "1d": 1440,
}  # fmt: skip
_CHUNK = 14_400  # minutes computed at once: bounds the memory of a request for days of candles


@dataclass(frozen=True, slots=True)
class Candles:
    """Candles of one market, oldest first; `taker_buy` in quote."""

    step_ms: int
    at: Ints
    open: Floats
    high: Floats
    low: Floats
    close: Floats
    volume: Floats
    quote: Floats
    trades: Ints
    taker_buy: Floats

    def rows(self) -> Iterator[tuple[int, float, float, float, float, float, float, int, float]]:
        """(start ms, open, high, low, close, base volume, quote volume, trades, taker buy quote)."""
        columns = (self.at, self.open, self.high, self.low, self.close, self.volume, self.quote, self.trades,
                   self.taker_buy)  # fmt: skip
        yield from zip(*(column.tolist() for column in columns), strict=True)


def _grouped(bars: Bars, step: int) -> list[Floats]:
    """open, high, low, close, base, quote, trades, taker buy per candle of `step` minutes."""
    shape = (-1, step)
    opened, high, low, closed = (part[0].reshape(shape) for part in (bars.open, bars.high, bars.low, bars.close))
    base, quote = bars.volume[0].reshape(shape), bars.quote_volume[0].reshape(shape)
    bought = (bars.quote_volume[0] * bars.taker_buy[0]).reshape(shape)
    trades = bars.trades[0].reshape(shape).sum(axis=1).astype(np.float64)
    return [opened[:, 0], high.max(axis=1), low.min(axis=1), closed[:, -1], base.sum(axis=1), quote.sum(axis=1),
            trades, bought.sum(axis=1)]  # fmt: skip


def candles(
    world: World, row: int, step: int, start_ms: int | None, end_ms: int | None, count: int, now_ms: int
) -> Candles:
    """Candles that begin in [start, end], at most `count`: the oldest from a start, else the newest up to the end.

    The candle that contains `now_ms` is still running: its close and volumes are those so far.
    """
    step_ms = step * MINUTE_MS
    first_listed = -(-int(world.universe.listed[row]) // step) * step
    newest = min(end_ms if end_ms is not None else now_ms, now_ms) // step_ms
    last_listed = (int(world.universe.delisted[row]) - 1) // step
    newest = min(newest, last_listed)
    oldest = max(-(-start_ms // step_ms) if start_ms is not None else 0, first_listed // step)
    if start_ms is not None:
        newest = min(newest, oldest + count - 1)
    else:
        oldest = max(oldest, newest - count + 1)
    number = newest - oldest + 1
    if number <= 0:
        none = np.zeros(0)
        return Candles(step_ms, none.astype(np.int64), none, none, none, none, none, none, none.astype(np.int64), none)
    chunk = max(1, _CHUNK // step)
    parts = []
    for begin in range(oldest, newest + 1, chunk):
        length = min(chunk, newest + 1 - begin)
        parts.append(_grouped(world.bars(row, begin * step, length * step), step))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    at = np.arange(oldest, newest + 1) * step_ms
    if at[-1] + step_ms > now_ms:
        _run(world, row, columns, int(at[-1]), now_ms)
    opened, high, low, closed, base, quote, trades, bought = columns
    return Candles(step_ms, at, opened, high, low, closed, base, quote, trades.astype(np.int64), bought)


def _run(world: World, row: int, columns: list[Floats], start_ms: int, now_ms: int) -> None:
    """Cut the last candle off at this millisecond."""
    minute, inside = divmod(now_ms, MINUTE_MS)
    share = inside / MINUTE_MS
    bars = world.bars(row, start_ms // MINUTE_MS, minute - start_ms // MINUTE_MS + 1)
    last = float(world.last(now_ms)[row])
    closed, begun = slice(0, bars.open.shape[1] - 1), bars.open.shape[1] - 1
    opened = float(bars.open[0, begun])
    columns[1][-1] = max([*bars.high[0, closed].tolist(), opened, last])
    columns[2][-1] = min([*bars.low[0, closed].tolist(), opened, last])
    columns[3][-1] = last
    taken = bars.quote_volume * bars.taker_buy
    for column, part in zip(columns[4:], (bars.volume, bars.quote_volume, bars.trades, taken), strict=True):
        total = float(part[0, closed].sum()) + share * float(part[0, begun])
        column[-1] = np.floor(total) if part is bars.trades else total
