"""The simulated market at a minute, for all rows at once and cached: what the wire formats read."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from sandbox.market.clock import Clock
from sandbox.market.derivatives import Liquidations, funding_hours, funding_rate, liquidations, open_interest
from sandbox.market.market import DAY, TRADES_POWER, Bars, Market
from sandbox.market.noise import Floats, Ints
from sandbox.market.universe import MINUTE_MS, Universe

T = TypeVar("T")
_NEWEST_HOURS = 3  # hours whose bars are cached for all rows

_LATE_MINUTES, _LATE_STEP = 180, 5  # minutes; the newest buckets are cached for all rows of a venue


@dataclass(frozen=True, slots=True)
class Minute:
    """Everything about all rows in one minute; arrays by row, prices in quote per raw base unit."""

    minute: int
    log_open: Floats
    log_close: Floats
    price_24h: Floats
    price_1h: Floats
    high_24h: Floats  # over the hours' ends, so at most the true high
    low_24h: Floats
    index: Floats
    mark: Floats
    premium: Floats
    oi: Floats
    hours: Ints
    rate: Floats
    quote_24h: Floats  # exactly the sum of the last 1440 closed bars
    base_24h: Floats  # at the hours' mean prices: within 2 % of the sum of the bars
    trades_24h: Ints
    listed: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


class World:
    """The simulated market with its clock and the caches that make serving it cheap."""

    def __init__(self, universe: Universe, market: Market, clock: Clock) -> None:
        self.universe = universe
        self.market = market
        self.clock = clock
        self.all_rows: Ints = np.arange(len(universe.listings))
        self.price_format = [f"%.{one.decimals}f" for one in universe.listings]
        self.lot_format = [f"%.{max(0, one.lot_decimals)}f" for one in universe.listings]
        venues = dict.fromkeys(one.venue for one in universe.listings)
        self._derivatives = {venue: universe.rows(venue, "perp", "future") for venue in venues}
        self._derivative = {
            row: (venue, n) for venue, rows in self._derivatives.items() for n, row in enumerate(rows.tolist())
        }
        self._kept: OrderedDict[tuple[str, int], Any] = OrderedDict()

    def remembered(self, kind: str, at: int, make: Callable[[int], T], keep: int) -> T:
        """The result of `make(at)`, cached: the newest `keep` of each kind."""
        found = self._kept.pop((kind, at), None)
        if found is None:
            old = [key for key in self._kept if key[0] == kind]
            for key in old[: max(0, len(old) - keep + 1)]:
                del self._kept[key]
            found = make(at)
        self._kept[kind, at] = found
        made: T = found
        return made

    def hour(self, hour: int) -> Bars:
        """Bars of all rows in one hour."""
        return self.remembered("hour", hour, lambda at: self.market.bars(self.all_rows, at), _NEWEST_HOURS)

    def minute(self, minute: int) -> Minute:
        """The state of all rows in one minute."""
        return self.remembered("minute", minute, self._minute, 3)

    def liquidations(self, minute: int) -> Liquidations:
        """Liquidations of all rows in one minute."""
        return self.remembered(
            "liquidations", minute, lambda at: liquidations(self.market, self.all_rows, np.array([at])), 4
        )

    def last(self, now_ms: int) -> Floats:
        """The last price of all rows at this millisecond."""
        minute, inside = divmod(now_ms, MINUTE_MS)
        state = self.minute(minute)
        return self.market.price_between(self.all_rows, state.log_open, state.log_close, inside / MINUTE_MS)

    def last_of(self, row: int, now_ms: int) -> float:
        """The last price of one row at this millisecond."""
        minute, inside = divmod(now_ms, MINUTE_MS)
        state, one = self.minute(minute), slice(row, row + 1)
        found = self.market.price_between(
            self.all_rows[one], state.log_open[one], state.log_close[one], inside / MINUTE_MS
        )
        return float(found[0])

    def _new(self, hour: int) -> bool:
        """Whether the bars of all rows in this hour are cached."""
        return hour > self.clock.now_ms() // 3_600_000 - _NEWEST_HOURS

    def bars(self, row: int, first_minute: int, minutes: int) -> Bars:
        """Bars of one row; the newest hours come from the cache that all rows share."""
        first_hour, last_hour = first_minute // 60, (first_minute + minutes - 1) // 60
        start = first_minute - first_hour * 60
        if self._new(first_hour):
            return _joined(
                [
                    _cut(self.hour(hour), row, max(start - n * 60, 0), start + minutes - n * 60)
                    for n, hour in enumerate(range(first_hour, last_hour + 1))
                ]
            )
        found = self.market.bars(np.array([row]), first_hour, last_hour - first_hour + 1)
        return _cut(found, 0, start, start + minutes)

    def of_late(self, kind: str, row: int, minutes: Ints, make: Callable[[Ints, Ints], Floats]) -> Floats:
        """`make(rows, minutes)[0]` of one row, at the starts of buckets; `kind` names the result of `make`.

        The markets of a venue are requested in turn for the same newest buckets: each bucket is computed once, for all
        of the venue's derivatives.
        """
        now = self.clock.now_ms() // MINUTE_MS
        if minutes.min() < now - _LATE_MINUTES or minutes.max() > now or (minutes % _LATE_STEP).any():
            one: Floats = make(np.array([row]), minutes)[0]
            return one
        venue, at = self._derivative[row]
        rows, name = self._derivatives[venue], f"{kind} {venue}"

        def column(minute: int) -> Floats:
            return make(rows, np.array([minute]))[:, 0]

        keep = _LATE_MINUTES // _LATE_STEP + 1
        return np.array([self.remembered(name, minute, column, keep)[at] for minute in minutes.tolist()])

    def _summed(self, hour: int) -> Floats:
        """Quote volume from the hour's start to each of its minutes [rows, 61]."""

        def make(at: int) -> Floats:
            # The hour of a day ago is needed for nothing else, so it must not displace a newer one.
            bars = self.hour(at) if self._new(at) else self.market.bars(self.all_rows, at)
            volume = bars.quote_volume
            return np.concatenate([np.zeros((len(volume), 1)), np.cumsum(volume, axis=1)], axis=1)

        return self.remembered("summed", hour, make, 4)

    def _day(self, hour: int) -> tuple[Floats, Floats, Floats]:
        """Hour volumes [rows, 25] from 24 hours back, their mean prices, and log prices at their ends [rows, 26]."""

        def make(at: int) -> tuple[Floats, Floats, Floats]:
            hours = np.arange(at - 24, at + 1)
            logs = self.market.price_logs(self.all_rows, np.arange(at - 24, at + 2) * 60)
            mean = np.exp((logs[:, 1:] + logs[:, :-1]) * 0.5)
            return self.market.hour_volumes(self.all_rows, hours), mean, logs

        return self.remembered("day", hour, make, 2)

    def _minute(self, minute: int) -> Minute:
        market, rows = self.market, self.all_rows
        hour, inside = divmod(minute, 60)
        volumes, means, ends = self._day(hour)
        shares = np.ones((len(rows), 25))
        shares[:, 0] = 1.0 - self._summed(hour - 24)[:, inside] / np.maximum(volumes[:, 0], 1e-300)
        shares[:, 24] = self._summed(hour)[:, inside] / np.maximum(volumes[:, 24], 1e-300)
        shares[volumes == 0] = 0.0
        parts = volumes * shares
        at = np.array([minute])
        logs = market.price_logs(rows, np.array([minute - DAY, minute - 60, minute, minute + 1]))
        edge = np.concatenate([ends[:, 1:25], logs[:, [0, 2]]], axis=1)
        index_log, premium = market.index_logs(rows, at)[:, 0], market.premium(rows, at)[:, 0]
        hours = funding_hours(market, rows, at)
        away = premium * self.universe.perp + (logs[:, 2] - index_log) * self.universe.future
        trades = (60.0 * (parts / 60.0 * market.quote_usd[:, None]) ** TRADES_POWER).sum(axis=1)
        return Minute(
            minute=minute,
            log_open=logs[:, 2],
            log_close=logs[:, 3],
            price_24h=market.to_tick(rows, np.exp(logs[:, 0])),
            price_1h=market.to_tick(rows, np.exp(logs[:, 1])),
            high_24h=market.to_tick(rows, np.exp(edge.max(axis=1))),
            low_24h=market.to_tick(rows, np.exp(edge.min(axis=1))),
            index=np.exp(index_log),
            mark=np.exp(index_log + away),
            premium=premium,
            oi=open_interest(market, rows, at)[:, 0],
            hours=hours[:, 0],
            rate=funding_rate(market, rows, at, hours)[:, 0],
            quote_24h=parts.sum(axis=1),
            base_24h=(parts / means).sum(axis=1),
            trades_24h=trades.astype(np.int64),
            listed=market.listed(rows, at)[:, 0],
        )


def _cut(bars: Bars, row: int, start: int, end: int) -> Bars:
    """Some minutes of one row."""
    part = (slice(row, row + 1), slice(start, end))
    return Bars(
        bars.first_minute + start, bars.open[part], bars.high[part], bars.low[part], bars.close[part],
        bars.volume[part], bars.quote_volume[part], bars.taker_buy[part], bars.trades[part],
    )  # fmt: skip


def _joined(parts: list[Bars]) -> Bars:
    """Consecutive bars, concatenated."""
    if len(parts) == 1:
        return parts[0]
    columns = [field.name for field in fields(Bars)[1:]]
    return Bars(
        parts[0].first_minute,
        *(np.concatenate([getattr(part, name) for part in parts], axis=1) for name in columns),
    )


def build_world(universe: Universe, seed: int, clock: Clock) -> World:
    """A world of this universe and seed."""
    return World(universe, Market(universe, seed), clock)
