"""Candles of any interval, aggregated from the simulated one-minute bars, for the venues' candle endpoints."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sandbox.market.market import Bars
from sandbox.market.universe import MINUTE_MS
from sandbox.market.world import World

INTERVALS = {
    "1m": 1, "3m": 3, "5m": 5, "15m": 15, "30m": 30, "1h": 60, "2h": 120, "4h": 240, "6h": 360, "8h": 480,
    "12h": 720, "1d": 1440,
}  # fmt: skip
_TRADES = 6  # among the columns: a whole number
_CHUNK = 14_400  # minutes computed at once: bounds the memory of a request for days of candles


@dataclass(frozen=True, slots=True)
class Candles:
    """Candles of one market, oldest first; `taker_buy` in quote."""

    step_ms: int
    at: list[int]
    open: list[float]
    high: list[float]
    low: list[float]
    close: list[float]
    volume: list[float]
    quote: list[float]
    trades: list[int]
    taker_buy: list[float]

    def rows(self) -> Iterator[tuple[int, float, float, float, float, float, float, int, float]]:
        """(start ms, open, high, low, close, base volume, quote volume, trades, taker buy quote)."""
        return zip(self.at, self.open, self.high, self.low, self.close, self.volume, self.quote, self.trades,
                   self.taker_buy, strict=True)  # fmt: skip


Columns = list[list[Any]]
"""open, high, low, close, base, quote, trades, taker buy of each candle."""


def _grouped(bars: Bars, step: int) -> Columns:
    """The columns of candles of `step` minutes."""
    opened, high, low, closed, base, quote, trades = (
        part[0] for part in (bars.open, bars.high, bars.low, bars.close, bars.volume, bars.quote_volume, bars.trades)
    )
    bought = quote * bars.taker_buy[0]
    # The most frequent request: a candle is a bar.
    columns = [opened, high, low, closed, base, quote, trades, bought] if step == 1 else [
        opened[::step], high.reshape(-1, step).max(axis=1), low.reshape(-1, step).min(axis=1), closed[step - 1 :: step],
        *(part.reshape(-1, step).sum(axis=1) for part in (base, quote, trades, bought)),
    ]  # fmt: skip
    return [column.tolist() for column in columns]


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
    chunk = max(1, _CHUNK // step)
    columns: Columns = [[] for _ in range(8)]
    for begin in range(oldest, newest + 1, chunk):
        length = min(chunk, newest + 1 - begin)
        for column, part in zip(columns, _grouped(world.bars(row, begin * step, length * step), step), strict=True):
            column += part
    at = list(range(oldest * step_ms, (newest + 1) * step_ms, step_ms))
    if at and at[-1] + step_ms > now_ms:
        _run(world, row, columns, at[-1], step, now_ms)
    return Candles(step_ms, at, *columns)


def _run(world: World, row: int, columns: Columns, start_ms: int, step: int, now_ms: int) -> None:
    """Truncate the last candle, of `step` minutes, at this millisecond: it is still running."""
    minute, inside = divmod(now_ms, MINUTE_MS)
    first = start_ms // MINUTE_MS
    # The running minute; a candle of one minute is that bar.
    running = [column[-1] for column in columns] if step == 1 else [
        column[0] for column in _grouped(world.bars(row, minute, 1), 1)
    ]  # fmt: skip
    opened, last = running[0], world.last_of(row, now_ms)
    highs, lows, before = [opened, last], [opened, last], [0.0, 0.0, 0.0, 0.0]
    if minute > first:
        bars = world.bars(row, first, minute - first)
        highs.append(float(bars.high.max()))
        lows.append(float(bars.low.min()))
        parts = (bars.volume, bars.quote_volume, bars.trades, bars.quote_volume * bars.taker_buy)
        before = [float(part[0].sum()) for part in parts]
    columns[1][-1], columns[2][-1], columns[3][-1] = max(highs), min(lows), last
    share = inside / MINUTE_MS
    for n, closed in enumerate(before, start=4):
        total = closed + share * running[n]
        columns[n][-1] = int(total) if n == _TRADES else total
