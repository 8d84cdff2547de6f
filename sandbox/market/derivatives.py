"""Open interest, funding and liquidations of the simulated market."""

from dataclasses import dataclass

import numpy as np

from sandbox.market.market import Market, regimes_of
from sandbox.market.noise import Floats, Ints, uniform, walk

MINUTE_MS, HOUR_MS = 60_000, 3_600_000
_OI_OCTAVES = ((16, 0.0032), (128, 0.009), (1024, 0.0256), (8192, 0.072), (65536, 0.205))
_OI_FOLLOWS, _OI_SINCE = 0.2, (1440, 4320)  # of the price's move since then (minutes), this share
_INTEREST_8H = 0.0001
_CLAMP_8H = 0.0005
_CASCADE = 5  # minutes after a move that it still forces orders
_CLUSTER_OCTAVES = ((4, 0.9), (30, 1.2))
_MOST_EVENTS = 60  # of one market in one minute; a venue may send fewer


@dataclass(frozen=True, slots=True)
class Liquidations:
    """Liquidations in order of time; `row` is the market, `long` the side that was liquidated."""

    row: Ints
    ts: Ints
    long: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    size: Floats  # raw base units, whole lots
    price: Floats
    filled: Floats  # share of the last fill in the size, for venues that show it


def open_interest(market: Market, rows: Ints, minutes: Ints) -> Floats:
    """Single-sided open interest in raw base units [rows, minutes]; it changes by a few percent a day.

    It changes more in volatile, busy hours, and rises with the price.
    """
    world = market.universe
    own = 0.6 + 0.8 * uniform(market.market_keys[rows], np.array([0]), 31)
    level = world.volume_usd[rows] * 0.35 / market.base_usd[rows] * own
    coins, where = np.unique(world.coin[rows], return_inverse=True)
    since = np.concatenate([minutes, *(minutes - ago for ago in _OI_SINCE)])
    logs = market.asset_logs(coins, since).reshape(len(coins), 1 + len(_OI_SINCE), len(minutes))
    moved = _OI_FOLLOWS * (logs[:, 0] - logs[:, 1:].mean(axis=1))
    busy = regimes_of(market.volatility(since)[:, : len(minutes)])
    wave = np.exp(walk(market.held_keys[rows], minutes, _OI_OCTAVES, regimes=busy) + moved[where])
    held = world.perp[rows] + world.future[rows]
    whole = market.to_lot(rows, level[:, None] * held[:, None] * wave)
    return np.where(market.listed(rows, minutes), whole, 0.0)


def funding_hours(market: Market, rows: Ints, minutes: Ints) -> Ints:
    """The funding interval in force, in hours [rows, minutes]; 0 for markets without funding."""
    hours = np.zeros((len(rows), len(minutes)), dtype=np.int64)
    changes = zip(market.universe.funded_since[rows].T, market.universe.funded_hours[rows].T, strict=True)
    for since, interval in changes:
        hours = np.where(minutes >= since[:, None], interval[:, None], hours)
    return hours


def funding_rate(market: Market, rows: Ints, minutes: Ints, hours: Ints) -> Floats:
    """The current rate per interval: the averaged premium plus the clamped interest, so that calm markets have the
    baseline rate, within the venue's cap."""
    premium = market.premium(rows, minutes, averaged=True)
    rate_8h = premium + np.clip(_INTEREST_8H - premium, -_CLAMP_8H, _CLAMP_8H)
    cap = market.funding_cap[rows, None]
    rate = np.clip(rate_8h * hours / 8.0, -cap, cap)
    return np.rint(rate * 1e10) / 1e10


def next_funding_ms(now_ms: int, hours: Ints) -> Ints:
    """The next settlement: multiples of the interval since 00:00 UTC; 0 where there is none."""
    step = np.maximum(hours, 1) * HOUR_MS
    return np.where(hours > 0, (now_ms // step + 1) * step, 0)


def liquidations(market: Market, rows: Ints, minutes: Ints, logs: Floats | None = None) -> Liquidations:
    """All liquidations of the markets in contiguous minutes; `logs` are the price logs at their minutes + 1 points.

    The losing side of a move is liquidated, that of the minute or of the minutes before; a larger move means more and
    larger events. Events come in clusters: positions of a coin lie close to each other.
    """
    world = market.universe
    if logs is None:
        logs = market.price_logs(rows, np.append(minutes, minutes[-1] + 1))
    coins, where = np.unique(world.coin[rows], return_inverse=True)
    vol = market.minute_vol[coins, None]
    points = np.unique(np.concatenate([minutes, minutes - _CASCADE]))
    path = market.asset_logs(coins, points) / vol
    now, before = np.searchsorted(points, minutes), np.searchsorted(points, minutes - _CASCADE)
    lately = 0.6 * (path[:, now] - path[:, before])[where] / _CASCADE**0.5
    moved = (logs[:, 1:] - logs[:, :-1]) / vol[where] + lately
    clustered = np.exp(walk(market.cascade_keys[coins], minutes, _CLUSTER_OCTAVES))[where]
    usd_a_day = world.volume_usd[rows][:, None]
    pace = 0.05 * np.log1p(usd_a_day / 5e7) * (0.3 + 0.6 * np.maximum(np.abs(moved) + np.abs(lately) - 1.0, 0.0) ** 2)
    pace = (pace + 0.006) * clustered
    series = market.bar_keys[rows][:, None]
    count = np.floor(pace + uniform(series, minutes, 41)).astype(np.int64)
    count = np.minimum(count, _MOST_EVENTS) * market.listed(rows, minutes)
    count = count * world.perp[rows].astype(np.int64)[:, None]
    at_row, at_minute = np.nonzero(count)
    repeat = count[at_row, at_minute]
    at_row, at_minute = np.repeat(at_row, repeat), np.repeat(at_minute, repeat)
    nth = np.arange(len(at_row)) - np.repeat(np.cumsum(repeat) - repeat, repeat)
    draw = [uniform(market.bar_keys[rows[at_row]], minutes[at_minute] * 64 + nth, label) for label in range(42, 47)]
    inside = np.floor(draw[0] * MINUTE_MS).astype(np.int64)
    move = moved[at_row, at_minute]
    long = (move < 0) ^ (draw[1] < 0.1)
    share = inside / MINUTE_MS
    share = share * share * (3.0 - 2.0 * share)
    start, end = logs[at_row, at_minute], logs[at_row, at_minute + 1]
    worse = np.where(long, -1.0, 1.0) * 6e-4 * draw[2]
    event_rows = rows[at_row]
    price = market.to_tick(event_rows, np.exp(start + (end - start) * share + worse))
    usd = 250.0 * (1.0 + np.log1p(world.volume_usd[event_rows] / 1e7)) * (1.0 + np.abs(move)) / (draw[3] + 0.01) ** 0.9
    lot = 1.0 / world.lot_scale[event_rows]
    size = np.maximum(market.to_lot(event_rows, usd / market.quote_usd[event_rows] / price), lot)
    ts = minutes[at_minute] * MINUTE_MS + inside
    order = np.lexsort((event_rows, ts))
    return Liquidations(event_rows[order], ts[order], long[order], size[order], price[order], draw[4][order])
