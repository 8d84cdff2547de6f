"""The simulated market: prices and bars of any market at any minute, computed directly from the seed.

Prices are sums of value noise: one path for all coins (their beta), one per coin, and small ones per market
(venue differences, basis). A market's price is in its quote per raw base unit, rounded to its tick.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sandbox.market.noise import Floats, Ints, growing, keys, uniform, walk
from sandbox.market.universe import Universe

DAY = 1440
_PERIODS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144)
_SHORT = 100  # octaves shorter than this many minutes are fat-tailed and follow the volatility regime
_FACTOR_DAILY = 0.022
_PER_MINUTE = 1.0 / (DAY**0.5 * 0.9)  # daily volatility to the amplitude of the one-minute octave
_VENUE_OCTAVES = ((4, 0.4e-4), (64, 0.9e-4), (1024, 1.3e-4))
PREMIUM_OCTAVES = ((256, 1.0), (4096, 2.2))
_HOUR_OCTAVES = ((1, 0.25), (8, 0.35), (96, 0.5))
_BURSTS, _BURST = 0.0006, 60.0  # minutes in which much more is traded, about one a day
TRADES_POWER = 0.6  # trades in a minute from its USD
_CARRY = 0.08  # yearly, on dated futures
# History is requested per market, and a coin has many: its path is computed once for all of them.
_FEW_ASSETS, _LONG_RUN = 4, 240
_BLOCK, _BLOCKS_KEPT = 14_400, 600  # minutes; 115 kB each
_DAY_CURVE = 1.0 + 0.35 * np.sin((np.arange(24) - 8) * np.pi / 12)  # busiest in the American morning


@dataclass(frozen=True, slots=True)
class Bars:
    """One-minute bars [rows, minutes] from `first_minute`; a minute in which the market is not listed has volume 0."""

    first_minute: int
    open: Floats
    high: Floats
    low: Floats
    close: Floats
    volume: Floats  # raw base units
    quote_volume: Floats
    taker_buy: Floats  # share of the volume
    trades: Ints


class Market:
    """Random access to a deterministic market: same seed, same numbers, in any order and process."""

    def __init__(self, universe: Universe, seed: int) -> None:
        self.universe = universe
        self.seed = seed
        self._blocks: OrderedDict[tuple[int, int], Floats] = OrderedDict()
        names = [one.id for one in universe.listings]
        self.coin_keys = keys([asset.name for asset in universe.assets], seed, "coin")
        self.market_keys = keys(names, seed, "market")
        self.bar_keys = keys(names, seed, "bar")
        self.premium_keys = keys(names, seed, "premium")
        self.crowd_keys = keys([asset.name for asset in universe.assets], seed, "crowd")
        self._factor_key = keys(["factor", "regime"], seed, "world")
        self._beta = np.array([asset.beta for asset in universe.assets])
        self._log_price = np.log([asset.price for asset in universe.assets])
        self._own = np.array([asset.daily_vol for asset in universe.assets]) * _PER_MINUTE
        daily = np.hypot(self._beta * _FACTOR_DAILY, [asset.daily_vol for asset in universe.assets])
        self.minute_vol = np.maximum(daily / DAY**0.5, 1e-5)  # per asset: typical |log return| of a minute
        self._lean = uniform(self.market_keys, np.array([0]), 99) * 2e-4 - 1e-4
        # Sizes depend on the prices at the anchor: only their scale matters, and no second walk is needed.
        prices = np.array([asset.price for asset in universe.assets])
        self.quote_usd, self.base_usd = prices[universe.quote], prices[universe.coin] * universe.units
        self.heat = 0.3 + 1.9 * uniform(self.coin_keys, np.array([0]), 98) ** 3  # spread of the funding rate, per asset

    def asset_logs(self, wanted: Ints, minutes: Ints) -> Floats:
        """Log USD prices [assets, minutes]; long runs of minutes or hours of a few assets are cached in blocks."""
        stride = int(minutes[1] - minutes[0]) if len(minutes) > 1 else 0
        long = len(minutes) * stride >= _LONG_RUN and stride in (1, 60) and len(wanted) <= _FEW_ASSETS
        if not long or not (np.diff(minutes) == stride).all():
            return self._asset_logs(wanted, minutes)
        begin, end = int(minutes[0]), int(minutes[-1]) + 1
        blocks = range(begin // _BLOCK, (end - 1) // _BLOCK + 1)
        rows = [np.concatenate([self._block(asset, block) for block in blocks]) for asset in wanted.tolist()]
        return np.stack(rows)[:, begin - blocks[0] * _BLOCK : end - blocks[0] * _BLOCK : stride]

    def _block(self, asset: int, block: int) -> Floats:
        def make(minutes: Ints) -> Floats:
            shared = self._kept((-1, block), lambda at: np.stack(self._shared(at)), minutes)
            logs: Floats = self._asset_logs(np.array([asset]), minutes, (shared[0], shared[1]))[0]
            return logs

        return self._kept((asset, block), make, np.arange(block * _BLOCK, (block + 1) * _BLOCK))

    def _kept(self, name: tuple[int, int], make: Callable[[Ints], Floats], minutes: Ints) -> Floats:
        found = self._blocks.pop(name, None)
        if found is None:
            found = make(minutes)
            while len(self._blocks) >= _BLOCKS_KEPT:
                self._blocks.popitem(last=False)
        self._blocks[name] = found
        return found

    def _shared(self, minutes: Ints) -> tuple[Floats, Floats]:
        """(volatility of the minutes, path of the whole market): what all assets share."""
        loud = np.exp(0.9 * walk(self._factor_key[1:], minutes, ((480, 1.0), (60, 0.4)))[0])
        octaves = growing(_PERIODS)
        factor = walk(self._factor_key[:1], minutes, octaves, _SHORT, loud)[0] * (_FACTOR_DAILY * _PER_MINUTE)
        return loud, factor

    def _asset_logs(self, wanted: Ints, minutes: Ints, shared: tuple[Floats, Floats] | None = None) -> Floats:
        loud, factor = shared or self._shared(minutes)
        own = walk(self.coin_keys[wanted], minutes, growing(_PERIODS), _SHORT, loud)
        logs: Floats = self._log_price[wanted, None] + self._beta[wanted, None] * factor + self._own[wanted, None] * own
        return logs

    def premium(self, rows: Ints, minutes: Ints) -> Floats:
        """Premium of the perpetual over its index, as a fraction [rows, minutes]; funding follows from it."""
        heat = self.heat[self.universe.coin[rows]] * 2.2e-4
        return walk(self.premium_keys[rows], minutes, PREMIUM_OCTAVES) * heat[:, None] + 0.5e-4

    def index_logs(self, rows: Ints, minutes: Ints) -> Floats:
        """Log of the pair's fair spot price, in quote per raw base unit."""
        world = self.universe
        wanted, where = np.unique(np.concatenate([world.coin[rows], world.quote[rows]]), return_inverse=True)
        logs = self.asset_logs(wanted, minutes)
        return logs[where[: len(rows)]] - logs[where[len(rows) :]] + np.log(world.units[rows])[:, None]

    def price_logs(self, rows: Ints, minutes: Ints) -> Floats:
        """Log of the traded price, before it is rounded to the tick."""
        world = self.universe
        away = walk(self.market_keys[rows], minutes, _VENUE_OCTAVES) + self._lean[rows, None]
        away = away + self.premium(rows, minutes) * world.perp[rows, None]
        years = np.maximum(world.delisted[rows, None] - minutes, 0) / (365.0 * DAY)
        logs: Floats = self.index_logs(rows, minutes) + away + world.future[rows, None] * years * _CARRY
        return logs

    def to_tick(self, rows: Ints, prices: Floats) -> Floats:
        """Prices rounded to the market's tick, never below one tick."""
        scale = self.universe.scale[rows].reshape((-1,) + (1,) * (prices.ndim - 1))
        return np.maximum(np.rint(prices * scale), 1.0) / scale

    def to_lot(self, rows: Ints, sizes: Floats) -> Floats:
        """Sizes rounded to the market's lot."""
        scale = self.universe.lot_scale[rows].reshape((-1,) + (1,) * (sizes.ndim - 1))
        return np.rint(sizes * scale) / scale

    def listed(self, rows: Ints, minutes: Ints) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Whether each market trades in each minute."""
        world = self.universe
        inside = (world.listed[rows, None] <= minutes) & (minutes < world.delisted[rows, None])
        return np.asarray(inside, dtype=np.bool_)

    def hour_volumes(self, rows: Ints, hours: Ints) -> Floats:
        """Quote volume of whole hours [rows, hours]; listings start and end on the hour."""
        world = self.universe
        points = np.unique(np.concatenate([hours, hours + 1]))
        wanted, where = np.unique(world.coin[rows], return_inverse=True)
        logs = self.asset_logs(wanted, points * 60)
        start, end = np.searchsorted(points, hours), np.searchsorted(points, hours + 1)
        moved = np.abs(logs[:, end] - logs[:, start]) / (self.minute_vol[wanted, None] * 60.0**0.5)
        busy = _DAY_CURVE[hours % 24] * (1.0 + 0.35 * np.minimum(moved, 5.0))[where]
        level = np.exp(walk(self.bar_keys[rows], hours, _HOUR_OCTAVES))
        volume = (world.volume_usd[rows] / self.quote_usd[rows] / 24 * 0.7)[:, None] * busy * level
        return np.where(self.listed(rows, hours * 60), volume, 0.0)

    def bars(self, rows: Ints, first_hour: int, hours: int = 1) -> Bars:
        """Bars of whole hours; each hour's volumes sum up to `hour_volumes`."""
        minutes = np.arange(first_hour * 60, (first_hour + hours) * 60 + 1)
        logs = self.price_logs(rows, minutes)
        prices = self.to_tick(rows, np.exp(logs))
        opened, closed = prices[:, :-1], prices[:, 1:]
        vol = self.minute_vol[self.universe.coin[rows]][:, None]
        moved = (logs[:, 1:] - logs[:, :-1]) / vol
        minutes = minutes[:-1]
        series = self.bar_keys[rows][:, None]
        up, down = (vol * 0.7 * uniform(series, minutes, label) ** 2 for label in (11, 12))
        high = self.to_tick(rows, np.maximum(opened, closed) * (1.0 + up))
        low = self.to_tick(rows, np.minimum(opened, closed) * (1.0 - down))
        drawn = uniform(series, minutes, 13)
        raw = (
            (0.3 + 1.4 * drawn)
            * (1.0 + 0.8 * np.minimum(np.abs(moved), 8.0))
            * np.where(drawn > 1 - _BURSTS, _BURST, 1.0)
        )
        raw = raw.reshape(len(rows), hours, 60)
        share = raw / raw.sum(axis=2, keepdims=True)
        totals = self.hour_volumes(rows, np.arange(first_hour, first_hour + hours))
        quote = (share * totals[:, :, None]).reshape(len(rows), hours * 60)
        volume = quote / ((opened + high + low + closed) * 0.25)
        taker = 0.5 + 0.2 * np.tanh(moved) + 0.16 * (uniform(series, minutes, 14) - 0.5)
        trades = np.ceil((quote * self.quote_usd[rows, None]) ** TRADES_POWER).astype(np.int64)
        return Bars(int(minutes[0]), opened, high, low, closed, volume, quote, taker, trades)

    def price_between(self, rows: Ints, start: Floats, end: Floats, share: float) -> Floats:
        """The price inside a minute: monotone between the logs of its two ends, so it stays inside the bar."""
        eased = share * share * (3.0 - 2.0 * share)
        return self.to_tick(rows, np.exp(start + (end - start) * eased))
