"""The simulated market: prices and bars of any market at any minute, computed directly from the seed.

Prices are sums of value noise: one path for all coins (their beta), one per coin, and small ones per market
(venue differences, basis). A market's price is in its quote per raw base unit, rounded to its tick.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from sandbox.market.listings import funding_cap
from sandbox.market.noise import Floats, Ints, Regimes, growing, keys, uniform, walk
from sandbox.market.universe import Universe

DAY = 1440
_PERIODS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144)
_SHORT, _LONG = 100, 2000  # minutes; shorter octaves are fat-tailed, longer ones follow no volatility regime
_HOURS_REGIME = ((240, 0.7),)  # log volatility: of the octaves below _SHORT
_DAYS_REGIME = ((2880, 0.75), (20_160, 0.75))  # and of those below _LONG
_PATH_VARIANCE = 0.25  # of a path's octave of amplitude 1; the mean variance is the same whatever the regimes
_FACTOR_DAILY = 0.022
_PER_MINUTE = 1.0 / (DAY**0.5 * 0.9)  # daily volatility to the amplitude of the one-minute octave
_VENUE_OCTAVES = ((4, 0.4e-4), (64, 0.9e-4), (1024, 1.3e-4))
_CROWD_OCTAVES = ((1440, 6e-4), (14_400, 9e-4))
# The market's own premium; the funding rate averages, so it has the first only.
_PREMIUM_OCTAVES = ((4096, 1.6e-3), (256, 3e-4))
_USUAL_PREMIUM = 0.5e-4
_HOUR_OCTAVES = ((1, 0.25), (8, 0.35), (96, 0.5))
_VOLUME_FOLLOWS = 0.5  # power of the volatility
_BURSTS, _BURST = 0.0006, 60.0  # minutes in which much more is traded, about one a day
TRADES_POWER = 0.6  # trades in a minute from its USD
_CARRY, _CROWD_CARRY = 0.07, 60.0  # a year, of dated futures: usually, and per unit of crowding
# History is requested per market, and a coin has many: its path is computed once for all of them.
_FEW_ASSETS, _LONG_RUN = 4, 240
_BLOCK, _BLOCKS_KEPT = 14_400, 600  # minutes; 115 kB each
_FEW_MINUTES, _FEW_KEPT = 2000, 200
_DAY_CURVE = 1.0 + 0.35 * np.sin((np.arange(24) - 8) * np.pi / 12)  # busiest in the American morning


def _is_long(minutes: Ints) -> bool:
    """Whether they are a long run of minutes or hours."""
    stride = int(minutes[1] - minutes[0]) if len(minutes) > 1 else 0
    long = len(minutes) * stride >= _LONG_RUN and stride in (1, 60)
    return long and bool((np.diff(minutes) == stride).all())


def regimes_of(volatility: Floats) -> Regimes:
    """The regimes of a path's octaves, from `Market.volatility`."""
    return (_SHORT, volatility[0]), (_LONG, volatility[1])


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
        self._few: OrderedDict[bytes, Floats] = OrderedDict()
        names = [one.id for one in universe.listings]
        self.coin_keys = keys([asset.name for asset in universe.assets], seed, "coin")
        self.market_keys = keys(names, seed, "market")
        self.bar_keys = keys(names, seed, "bar")
        self.premium_keys = keys(names, seed, "premium")
        self.held_keys = keys(names, seed, "open interest")
        self._crowd_keys = keys([asset.name for asset in universe.assets], seed, "crowd")
        self.cascade_keys = keys([asset.name for asset in universe.assets], seed, "cascade")
        self._factor_key = keys(["factor", "regime", "hours"], seed, "world")
        self._beta = np.array([asset.beta for asset in universe.assets])
        self._log_price = np.log([asset.price for asset in universe.assets])
        self._own = np.array([asset.daily_vol for asset in universe.assets]) * _PER_MINUTE
        daily = np.hypot(self._beta * _FACTOR_DAILY, [asset.daily_vol for asset in universe.assets])
        self.minute_vol = np.maximum(daily / DAY**0.5, 1e-5)  # per asset: typical |log return| of a minute
        self._lean = uniform(self.market_keys, np.array([0]), 99) * 2e-4 - 1e-4
        # Sizes depend on the prices at the anchor: only their scale matters, and no second walk is needed.
        prices = np.array([asset.price for asset in universe.assets])
        self.quote_usd, self.base_usd = prices[universe.quote], prices[universe.coin] * universe.units
        heat = 0.3 + 1.9 * uniform(self.coin_keys, np.array([0]), 98) ** 3  # spread of the premium, per asset
        self._heat, self._crowd = heat[:, None], 0.8 + 0.4 * heat[:, None]
        self.funding_cap = np.array([funding_cap(one.venue) for one in universe.listings])

    def asset_logs(self, wanted: Ints, minutes: Ints) -> Floats:
        """Log USD prices [assets, minutes]; long runs of minutes or hours of a few assets are cached in blocks."""
        if len(wanted) > _FEW_ASSETS or not _is_long(minutes):
            return self._asset_logs(wanted, minutes, self._shared(minutes))
        return np.stack([self._from_blocks(partial(self._block, asset), minutes) for asset in wanted.tolist()])

    def volatility(self, minutes: Ints) -> Floats:
        """All assets' volatility as a multiple of the usual: [0] by regimes of hours and days, [1] by those of days."""
        shared = self._from_blocks(self._shared_block, minutes) if _is_long(minutes) else self._shared(minutes)
        return shared[:2]

    def _from_blocks(self, of: Callable[[int], Floats], minutes: Ints) -> Floats:
        begin, end = int(minutes[0]), int(minutes[-1]) + 1
        blocks = range(begin // _BLOCK, (end - 1) // _BLOCK + 1)
        joined = np.concatenate([of(block) for block in blocks], axis=-1)
        stride = int(minutes[1] - minutes[0])
        found: Floats = joined[..., begin - blocks[0] * _BLOCK : end - blocks[0] * _BLOCK : stride]
        return found

    def _shared_block(self, block: int) -> Floats:
        return self._kept((-1, block), self._all_share)

    def _block(self, asset: int, block: int) -> Floats:
        def make(minutes: Ints) -> Floats:
            logs: Floats = self._asset_logs(np.array([asset]), minutes, self._shared_block(block))[0]
            return logs

        return self._kept((asset, block), make)

    def _kept(self, name: tuple[int, int], make: Callable[[Ints], Floats]) -> Floats:
        found = self._blocks.pop(name, None)
        if found is None:
            found = make(np.arange(name[1] * _BLOCK, (name[1] + 1) * _BLOCK))
            while len(self._blocks) >= _BLOCKS_KEPT:
                self._blocks.popitem(last=False)
        self._blocks[name] = found
        return found

    def _shared(self, minutes: Ints) -> Floats:
        """`_all_share`, cached where the minutes are few: they are requested of one asset after the other."""
        if len(minutes) > _FEW_MINUTES:
            return self._all_share(minutes)
        name = minutes.tobytes()
        found = self._few.pop(name, None)
        if found is None:
            found = self._all_share(minutes)
            if len(self._few) >= _FEW_KEPT:
                self._few.popitem(last=False)
        self._few[name] = found
        return found

    def _all_share(self, minutes: Ints) -> Floats:
        """What all assets share: the volatility of the minutes in two rows, and the path of the whole market."""
        paths = []
        for series, octaves in ((self._factor_key[1:2], _DAYS_REGIME), (self._factor_key[2:], _HOURS_REGIME)):
            spread = _PATH_VARIANCE * sum(amplitude**2 for _, amplitude in octaves)
            paths.append(walk(series, minutes, octaves)[0] - spread)
        volatility = np.exp(np.stack([paths[0] + paths[1], paths[0]]))
        factor = walk(self._factor_key[:1], minutes, growing(_PERIODS), _SHORT, regimes_of(volatility))
        return np.concatenate([volatility, factor * (_FACTOR_DAILY * _PER_MINUTE)])

    def _asset_logs(self, wanted: Ints, minutes: Ints, shared: Floats) -> Floats:
        own = walk(self.coin_keys[wanted], minutes, growing(_PERIODS), _SHORT, regimes_of(shared[:2]))
        logs: Floats = (
            self._log_price[wanted, None] + self._beta[wanted, None] * shared[2] + self._own[wanted, None] * own
        )
        return logs

    def crowding(self, wanted: Ints, minutes: Ints) -> Floats:
        """How far traders lean to the long side [assets, minutes], as the premium that they pay.

        It drifts over days and returns; premiums, funding, dated futures and the shares of longs follow it.
        """
        found: Floats = walk(self._crowd_keys[wanted], minutes, _CROWD_OCTAVES) * self._crowd[wanted]
        return found

    def premium(self, rows: Ints, minutes: Ints, averaged: bool = False) -> Floats:
        """Premium of the perpetual over its index, as a fraction [rows, minutes]; averaged, as funding follows it."""
        coins, where = np.unique(self.universe.coin[rows], return_inverse=True)
        return self._premium(rows, minutes, self.crowding(coins, minutes)[where], averaged)

    def _premium(self, rows: Ints, minutes: Ints, crowding: Floats, averaged: bool = False) -> Floats:
        own = walk(self.premium_keys[rows], minutes, _PREMIUM_OCTAVES[:1] if averaged else _PREMIUM_OCTAVES)
        found: Floats = own * self._heat[self.universe.coin[rows]] + crowding + _USUAL_PREMIUM
        return found

    def carry(self, crowding: Floats) -> Floats:
        """The yearly premium of dated futures of an asset over its spot price."""
        return _CARRY + _CROWD_CARRY * crowding

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
        if (world.perp[rows] + world.future[rows]).any():
            coins, where = np.unique(world.coin[rows], return_inverse=True)
            crowding = self.crowding(coins, minutes)[where]
            years = np.maximum(world.delisted[rows, None] - minutes, 0) / (365.0 * DAY)
            away = away + self._premium(rows, minutes, crowding) * world.perp[rows, None]
            away = away + world.future[rows, None] * years * self.carry(crowding)
        return self.index_logs(rows, minutes) + away

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
        regime = self.volatility(points * 60)[0, start] ** _VOLUME_FOLLOWS
        busy = _DAY_CURVE[hours % 24] * regime * (1.0 + 0.35 * np.minimum(moved, 5.0))[where]
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
