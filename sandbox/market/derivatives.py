"""Open interest, funding and liquidations of the simulated market."""

from dataclasses import dataclass

import numpy as np

from sandbox.market.market import Market
from sandbox.market.noise import Floats, Ints, uniform, walk

MINUTE_MS, HOUR_MS = 60_000, 3_600_000
_OI_OCTAVES = ((256, 0.05), (4096, 0.15), (65536, 0.3))
_INTEREST_8H = 0.0001
_CROWD_OCTAVES = ((720, 2.5e-4), (2880, 5e-4), (14_400, 7e-4))
_OWN_CROWD_OCTAVES = ((480, 1e-4), (4320, 2e-4))
_CLAMP_8H = 0.0005
FUNDING_CAP = 0.02  # per interval
_MOST_EVENTS = 12  # of one market in one minute


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
    """Single-sided open interest in raw base units [rows, minutes]; it changes by a few percent a day."""
    world = market.universe
    own = 0.6 + 0.8 * uniform(market.market_keys[rows], np.array([0]), 31)
    level = world.volume_usd[rows] * 0.35 / market.base_usd[rows] * own
    wave = np.exp(walk(market.premium_keys[rows], minutes, _OI_OCTAVES))
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
    """The current rate per interval: premium and crowding plus the clamped interest, so that calm markets have the
    baseline rate.

    Crowding drifts over days and returns, with the coin and less with the venue: at times it takes funding below zero.
    """
    coins, where = np.unique(market.universe.coin[rows], return_inverse=True)
    crowding = (0.8 + 0.4 * market.heat[coins, None]) * walk(market.crowd_keys[coins], minutes, _CROWD_OCTAVES)
    own = walk(market.premium_keys[rows], minutes, _OWN_CROWD_OCTAVES)
    premium = market.premium(rows, minutes) * 3.0 + crowding[where] + own
    rate_8h = premium + np.clip(_INTEREST_8H - premium, -_CLAMP_8H, _CLAMP_8H)
    rate = np.clip(rate_8h * hours / 8.0, -FUNDING_CAP, FUNDING_CAP)
    return np.rint(rate * 1e10) / 1e10


def next_funding_ms(now_ms: int, hours: Ints) -> Ints:
    """The next settlement: multiples of the interval since 00:00 UTC; 0 where there is none."""
    step = np.maximum(hours, 1) * HOUR_MS
    return np.where(hours > 0, (now_ms // step + 1) * step, 0)


def liquidations(market: Market, rows: Ints, minutes: Ints, logs: Floats | None = None) -> Liquidations:
    """All liquidations of the markets in contiguous minutes; `logs` are the price logs at their minutes + 1 points.

    The losing side of a minute's move is liquidated; a larger move means more and larger events.
    """
    world = market.universe
    if logs is None:
        logs = market.price_logs(rows, np.append(minutes, minutes[-1] + 1))
    moved = (logs[:, 1:] - logs[:, :-1]) / market.minute_vol[world.coin[rows]][:, None]
    usd_a_day = world.volume_usd[rows][:, None]
    pace = 0.012 + 0.05 * np.log1p(usd_a_day / 5e7) * (1.0 + 2.0 * np.maximum(np.abs(moved) - 1.0, 0.0) ** 2)
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
