"""Wallets of the simulated market: their positions at any minute, the liquidation prices, and which were liquidated.

A wallet has a few seats, and the time of a seat is divided into cells. In each cell the seat opens one isolated
position in one of the largest markets and closes it, unless the mark price reaches the liquidation price first. Sides
follow the top traders of `positioning`. A cell's position is computed from its number, so that any minute of any year
is available.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from sandbox.derived.positioning import long_fraction
from sandbox.market.derivatives import open_interest
from sandbox.market.listing import ANCHOR_MS, NEVER_MS
from sandbox.market.noise import Floats, Ints, Keys, key, keys, uniform
from sandbox.market.universe import MINUTE_MS
from sandbox.market.world import World

DAY = 1440
SEATS = 4
WALLETS = {"small": 600, "full": 3000, "triple": 9000}
_MARKETS = 24  # the most traded of the venue's own dex
_OF_DEX = 6  # the most traded of the largest other dex
_SHORTEST, _LONGEST = 3 * 60, 8 * DAY  # minutes of a cell
_LEVERAGES = np.array([2, 3, 5, 10, 10, 20, 25, 40])
_OF_OPEN_INTEREST = 0.35  # the wallets' share of the open interest, longs and shorts together
_BACKSTOP = 0.3  # of the liquidations are taken over by a liquidator; the others trade in the market


@dataclass(frozen=True, slots=True)
class Positions:
    """Positions as columns; one per seat and cell. Prices in quote per raw base unit, sizes in raw base units."""

    seat: Ints
    cell: Ints
    row: Ints
    long: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    leverage: Ints
    size: Floats  # whole lots
    entry: Floats
    liquidation: Floats  # the price
    opened_ms: Ints
    closed_ms: Ints  # the end, by choice or by liquidation
    liquidated: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    backstop: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

    def where(self, chosen: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> "Positions":
        """The chosen positions."""
        return Positions(*(getattr(self, one.name)[chosen] for one in fields(self)))

    def each(self) -> Iterator[dict[str, Any]]:
        """Each position as a dict by the columns' names."""
        names = [one.name for one in fields(self)]
        for values in zip(*(getattr(self, name).tolist() for name in names), strict=True):
            yield dict(zip(names, values, strict=True))


class Wallets:
    """All wallets over the perpetuals of one venue."""

    def __init__(self, world: World, venue: str, largest_leverage: dict[int, int]) -> None:
        self.world, self.venue = world, venue
        self.count = WALLETS[world.universe.name]
        self.address = [f"0x{key(world.market.seed, 'wallet', venue, n):016x}{n:024x}" for n in range(self.count)]
        self.number = {address: n for n, address in enumerate(self.address)}
        self._largest = largest_leverage
        self._current: Positions | None = None

    def owner(self, seat: int) -> str:
        """The address whose seat it is."""
        return self.address[seat // SEATS]

    @cached_property
    def rows(self) -> Ints:
        """The markets of the positions: long listed ones, the largest first, then those of the largest other dex."""
        universe = self.world.universe
        old = ANCHOR_MS - 60 * DAY * MINUTE_MS
        found = [
            row for row in universe.rows(self.venue, "perp").tolist()
            if universe.listings[row].listed_ms < old and universe.listings[row].delisted_ms == NEVER_MS
        ]  # fmt: skip
        found.sort(key=lambda row: -universe.volume_usd[row])
        own = [row for row in found if not universe.listings[row].group][:_MARKETS]
        others = [row for row in found if universe.listings[row].group]
        largest = universe.listings[others[0]].group if others else ""
        others = [row for row in others if universe.listings[row].group == largest][:_OF_DEX]
        return np.array(own + others, dtype=np.int64)

    @cached_property
    def _edges(self) -> Floats:
        """Cumulative probabilities [seats of a wallet, markets]. Each seat has its own markets, so that a wallet has no
        two positions in one; the last seat has those of the other dex."""
        listings = self.world.universe.listings
        other = np.array([bool(listings[row].group) for row in self.rows.tolist()])
        share = np.sqrt(self.world.universe.volume_usd[self.rows])
        turn = np.where(other, SEATS - 1, np.arange(len(self.rows)) % (SEATS - 1 if other.any() else SEATS))
        chances = np.where(turn[None, :] == np.arange(SEATS)[:, None], share[None, :], 0.0)
        edges: Floats = np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1)
        return edges

    @cached_property
    def _seats(self) -> tuple[Keys, Ints, Ints]:
        """(key, minutes of a cell, phase) of each seat."""
        names = [f"{n}:{seat}" for n in range(self.count) for seat in range(SEATS)]
        series = keys(names, self.world.market.seed, "seat", self.venue)
        drawn = uniform(series, np.array([0]), 1)
        length = np.rint(_SHORTEST * (_LONGEST / _SHORTEST) ** drawn).astype(np.int64)
        return series, length, (uniform(series, np.array([0]), 2) * length).astype(np.int64)

    def marks(self, day: int) -> Floats:
        """Log mark prices of the traded markets [rows, minutes of the day]."""

        def make(at: int) -> Floats:
            minutes = np.arange(at * DAY, (at + 1) * DAY)
            logs: Floats = self.world.market.index_logs(self.rows, minutes)
            return logs + self.world.market.premium(self.rows, minutes)

        return self.world.remembered(f"wallet marks {self.venue}", day, make, 40)

    def of(self, seats: Ints, cells: Ints) -> Positions:
        """The position of each (seat, cell)."""
        every, all_lengths, all_phases = self._seats
        series, lengths, phases = every[seats], all_lengths[seats], all_phases[seats]
        universe = self.world.universe

        def draw(label: int) -> Floats:
            drawn: Floats = uniform(series, cells, label)
            return drawn

        start = cells * lengths - phases
        opened = start + (0.25 * draw(11) * lengths).astype(np.int64)
        closes = start + ((0.65 + 0.35 * draw(12)) * lengths).astype(np.int64)
        at = np.minimum((draw(13)[:, None] > self._edges[seats % SEATS]).sum(axis=1), len(self.rows) - 1)
        rows = self.rows[at]
        days, inside = np.divmod(opened, DAY)
        entry = np.empty(len(rows))
        lean = np.empty(len(rows))
        for n in np.unique(at).tolist():
            mine = at == n
            moments, which = np.unique(opened[mine], return_inverse=True)
            lean[mine] = long_fraction(self.world, self.rows[n : n + 1], "top_positions", moments)[0][which]
        for day in np.unique(days).tolist():
            mine = days == day
            entry[mine] = np.exp(self.marks(day)[at[mine], inside[mine]])
        long = draw(14) < lean
        largest = np.array([self._largest[universe.listings[row].index] for row in rows.tolist()])
        leverage = np.minimum(_LEVERAGES[(draw(15) * len(_LEVERAGES)).astype(np.int64)], largest)
        # The maintenance margin is half of the initial margin at the largest leverage, as at the venue.
        left = 0.5 / largest
        liquidation = np.where(long, entry * (1 - 1 / leverage) / (1 - left), entry * (1 + 1 / leverage) / (1 + left))
        usual = self._usual_size[at] * -np.log1p(-draw(16))
        lot = universe.lot_scale[rows]
        size = np.maximum(np.rint(usual * lot), 1.0) / lot
        ended, liquidated = self._ends(at, opened, closes, long, np.log(liquidation))
        offset = (draw(17) * MINUTE_MS).astype(np.int64)
        return Positions(
            seats, cells, rows, long, leverage, size, entry, liquidation, opened * MINUTE_MS,
            ended * MINUTE_MS + offset, liquidated, draw(18) < _BACKSTOP,
        )  # fmt: skip

    @cached_property
    def _usual_size(self) -> Floats:
        """The mean size of a position in each market; together they are a share of its open interest."""
        held = open_interest(self.world.market, self.rows, np.array([ANCHOR_MS // MINUTE_MS]))[:, 0] * 2
        chance = np.diff(self._edges, axis=1, prepend=0.0).sum(axis=0)
        # Six of ten are open at a time.
        sizes: Floats = _OF_OPEN_INTEREST * held / (self.count * chance * 0.6)
        return sizes

    def _ends(
        self,
        at: Ints,
        opened: Ints,
        closes: Ints,
        long: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
        level: Floats,
    ) -> tuple[Ints, np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]:
        """(last minute, whether by liquidation): the first minute after the opening whose mark is beyond the level."""
        ended, gone = closes.copy(), np.zeros(len(at), dtype=np.bool_)
        if not len(at):
            return ended, gone
        first, last = int(opened.min()) // DAY, int(closes.max()) // DAY
        for day in range(first, last + 1):
            path = self.marks(day)
            low, high = path.min(axis=1), path.max(axis=1)
            reached = np.where(long, low[at] <= level, high[at] >= level)
            touched = reached & ~gone & (opened < (day + 1) * DAY) & (closes > day * DAY)
            for n in np.flatnonzero(touched).tolist():
                begin, end = max(opened[n] + 1 - day * DAY, 0), min(closes[n] - day * DAY, DAY)
                piece = path[at[n], begin:end]
                beyond = piece <= level[n] if long[n] else piece >= level[n]
                if beyond.any():
                    ended[n], gone[n] = day * DAY + begin + int(np.argmax(beyond)), True
        return ended, gone

    def _cells(self, minute: int) -> Ints:
        _, lengths, phases = self._seats
        return np.asarray((minute + phases) // lengths, dtype=np.int64)

    def cells_at(self, minute: int) -> Positions:
        """The position of every seat's cell at a minute, whether it is open then or not."""
        cells, held = self._cells(minute), self._current
        seats = np.arange(len(cells))
        if held is None or (changed := held.cell != cells).mean() > 0.2:
            self._current = self.of(seats, cells)
        elif changed.any():
            made = self.of(seats[changed], cells[changed])
            columns = []
            for one in fields(held):
                column = getattr(held, one.name).copy()
                column[changed] = getattr(made, one.name)
                columns.append(column)
            self._current = Positions(*columns)
        assert self._current is not None
        return self._current

    def open_at(self, now_ms: int, wallet: int | None = None) -> Positions:
        """The positions open at a time (UTC epoch ms), of all wallets or of one."""
        found = self.cells_at(now_ms // MINUTE_MS)
        chosen = (found.opened_ms <= now_ms) & (now_ms < found.closed_ms)
        if wallet is not None:
            chosen &= found.seat // SEATS == wallet
        return found.where(chosen)

    def between(self, start_ms: int, end_ms: int, wallet: int | None = None) -> Positions:
        """The positions of the cells that overlap a span (UTC epoch ms), of all wallets or of one."""
        _, lengths, phases = self._seats
        seats = np.arange(len(lengths)) if wallet is None else np.arange(wallet * SEATS, (wallet + 1) * SEATS)
        first = (start_ms // MINUTE_MS + phases[seats]) // lengths[seats]
        last = (end_ms // MINUTE_MS + phases[seats]) // lengths[seats]
        counts = last - first + 1
        owner = np.repeat(seats, counts)
        inside = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        return self.of(owner, np.repeat(first, counts) + inside)

    def liquidated_in(self, minute: int) -> Positions:
        """The positions that are liquidated within a minute, in order of time."""
        found = self.cells_at(minute)
        gone = found.where(found.liquidated & (found.closed_ms // MINUTE_MS == minute))
        order = np.argsort(gone.closed_ms, kind="stable")
        return Positions(*(getattr(gone, one.name)[order] for one in fields(gone)))

    def mark(self, row: int, minute: int) -> float:
        """The mark price of a traded market in a minute."""
        at = int(np.flatnonzero(self.rows == row)[0])
        return float(np.exp(self.marks(minute // DAY)[at, minute % DAY]))
