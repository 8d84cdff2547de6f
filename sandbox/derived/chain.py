"""Option chains of the simulated market: the listed options of a coin, their prices, greeks and open interest.

Implied variance is an SSVI surface whose total variance grows with time: no butterfly and no calendar arbitrage. The
options of a coin are the same at every venue; only the open interest is the venue's own share.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from math import erf, exp, floor, log10

import numpy as np
from numpy.typing import NDArray

from sandbox.market.noise import Floats, Ints, keys, uniform, walk
from sandbox.market.world import World

MINUTE_MS, DAY_MS = 60_000, 86_400_000
YEAR_MS = 365 * DAY_MS
_TENORS = ((2, 0.01), (28, 0.02), (92, 0.05), (366, 0.1))  # listed so many days ahead; strike step, see _strikes
_LONG_VOL = {"BTC": 0.5, "ETH": 0.65}
_ETA = 0.8  # of the surface: eta * (1 + |rho|) <= 2 keeps it free of butterflies
_REVERSION = 6.0  # a year


@dataclass(frozen=True, slots=True)
class Chain:
    """All listed options of a coin at one minute as columns; prices and greeks in USD per coin, undiscounted."""

    coin: str
    index: float
    expiry_ms: Ints
    strike: Floats
    call: NDArray[np.bool_]
    listed_ms: Ints
    forward: Floats
    atm_iv: Floats  # of the expiry
    mark_iv: Floats
    bid_iv: Floats  # nan without a bid
    ask_iv: Floats
    price: Floats
    delta: Floats
    gamma: Floats
    vega: Floats  # per point of volatility
    theta: Floats  # a day
    open_interest: Floats  # coins
    volume_24h: Floats  # coins


def expiry_name(expiry_ms: int) -> str:
    """The day of an expiry, such as 6DEC25."""
    day = datetime.fromtimestamp(expiry_ms / 1000, UTC)
    return f"{day.day}{day:%b%y}".upper()


def expiries(now_ms: int) -> list[tuple[int, int, float]]:
    """(expiry, listing, strike step) of the listed expiries: daily, weekly, monthly and quarterly, at 08:00 UTC.

    One that is several of these has the life of the longest.
    """
    today = datetime.fromtimestamp(now_ms / 1000, UTC).replace(hour=8, minute=0, second=0, microsecond=0)
    found = []
    for ahead in range(367):
        day = today + timedelta(days=ahead)
        friday = day.weekday() == 4
        last = friday and (day + timedelta(days=7)).month != day.month
        kind = 3 if last and day.month % 3 == 0 else 2 if last else 1 if friday else 0
        days, step = _TENORS[kind]
        expiry = int(day.timestamp() * 1000)
        if expiry > now_ms >= expiry - days * DAY_MS:
            found.append((expiry, expiry - days * DAY_MS, step))
    return found


def _volatility(world: World, coin: str, minute: int) -> tuple[float, float, float]:
    """(long-run volatility, present volatility, skew) of a coin."""
    seeds = keys(["level", "skew"], world.market.seed, "volatility", coin)
    mood = walk(seeds, np.array([minute]), ((1440, 0.12), (20_160, 0.3), (131_072, 0.25)))[:, 0].tolist()
    usual = _LONG_VOL.get(coin, 0.8)
    present, skew = usual * exp(0.5 * mood[0]), min(0.4, max(-0.7, 0.4 * mood[1] - 0.24))
    return usual, present, skew


def variance(years: Floats, usual: float, present: float) -> Floats:
    """At-the-money total variance: from the present level to the usual one, growing with time."""
    decay = (1.0 - np.exp(-_REVERSION * years)) / _REVERSION
    total: Floats = usual**2 * years + (present**2 - usual**2) * decay
    return total


def surface(total: Floats, moneyness: Floats, skew: float) -> Floats:
    """Total variance at log-moneyness by SSVI."""
    curve = _ETA / np.sqrt(total * (1.0 + total))
    bent = curve * moneyness
    out: Floats = 0.5 * total * (1.0 + skew * bent + np.sqrt((bent + skew) ** 2 + 1.0 - skew**2))
    return out


def _strikes(prices: Floats, years: Floats, volatility: float, step: float) -> Floats:
    """The strikes around the prices at several times (years before the end) of an expiry's life.

    The gap is a share of the round number (1, 2.5 or 5) below the first price.
    """
    width = np.clip(2.6 * volatility * np.sqrt(years), 0.05, 1.2)
    low, high = float((prices * np.exp(-width)).min()), float((prices * np.exp(width)).max())
    power = 10.0 ** floor(log10(float(prices[0])))
    gap = step * power * max(one for one in (1.0, 2.5, 5.0) if one * power <= float(prices[0]))
    # Far from the price every fifth strike is enough.
    grid = np.arange(max(1, floor(low / gap)), floor(high / gap) + 2)
    middle = float(prices[-1]) / gap
    near = np.abs(np.log(grid / middle)) < max(0.12, 0.35 * float(width.max()))
    chosen: Floats = grid[near | (grid % 5 == 0)] * gap
    return chosen


def _normal(x: Floats) -> Floats:
    return 0.5 * (1.0 + np.array([erf(one) for one in (x / 2**0.5).tolist()]))


def _listed(world: World, coin: str, asset: int, now_ms: int) -> tuple[Floats, Ints, Ints]:
    """(strike, expiry, listing) of each pair of call and put; the same for the whole day until 08:00."""
    strikes, ends, starts = [], [], []
    usual = _LONG_VOL.get(coin, 0.8)
    for expiry, listing, step in expiries(now_ms):
        last = max(listing, (now_ms - 8 * 3_600_000) // DAY_MS * DAY_MS + 8 * 3_600_000)
        times = np.unique(np.append(np.arange(listing, last, max(DAY_MS, (expiry - listing) // 12)), last))
        prices = np.exp(world.market.asset_logs(np.array([asset]), times // MINUTE_MS)[0])
        found = _strikes(prices, (expiry - times) / YEAR_MS, usual, step)
        strikes.append(found)
        ends.append(np.full(len(found), expiry))
        starts.append(np.full(len(found), listing))
    return np.concatenate(strikes), np.concatenate(ends), np.concatenate(starts)


def _held(world: World, venue: str, of: Chain, minute: int, coins: float) -> tuple[Floats, Floats]:
    """Open interest and 24 h volume in coins: most is out of the money; it grows with the time since the listing."""
    now_ms = minute * MINUTE_MS
    kinds = np.where(of.call, "C", "P").tolist()
    names = [f"{a}-{b:.8g}-{c}" for a, b, c in zip(of.expiry_ms.tolist(), of.strike.tolist(), kinds, strict=True)]
    series = keys(names, world.market.seed, "options", venue, of.coin)
    out = np.log(of.strike / of.forward) * np.where(of.call, 1.0, -1.0)
    spread = 0.12 + 0.5 * np.sqrt((of.expiry_ms - now_ms) / YEAR_MS)
    popular = np.exp(-0.5 * ((out - 0.6 * spread) / spread) ** 2)
    life = of.expiry_ms - of.listed_ms
    age = np.sqrt(np.clip((now_ms - of.listed_ms) / life, 0.0, 1.0))
    wave = np.exp(walk(series, np.array([minute]), ((1440, 0.1), (20_160, 0.6)))[:, 0])
    weight = popular * age * life**0.5 * wave
    weight[weight < 0.002 * weight.max()] = 0.0
    held = coins * weight / max(float(weight.sum()), 1e-12)
    return held, held * uniform(series, np.array([minute // 1440]), 5) ** 3 * 0.25


def chain(world: World, venue: str, coin: str, minute: int, held_coins: float) -> Chain:
    """The chain of a coin at a venue whose open interest in all its options is `held_coins` coins."""
    return world.remembered(
        f"chain {venue} {coin} {held_coins}", minute, lambda at: _chain(world, venue, coin, at, held_coins), 2
    )


def _chain(world: World, venue: str, coin: str, minute: int, held_coins: float) -> Chain:
    now_ms = minute * MINUTE_MS
    asset = next(n for n, one in enumerate(world.universe.assets) if one.name == coin)
    index = float(np.exp(world.market.asset_logs(np.array([asset]), np.array([minute]))[0, 0]))
    day = (now_ms - 8 * 3_600_000) // DAY_MS
    strikes, ends, starts = world.remembered(f"strikes {coin}", day, lambda _: _listed(world, coin, asset, now_ms), 2)
    # Those of the day that have not expired since, first all calls, then all puts.
    alive = ends > now_ms
    strike, expiry, listing = np.tile(strikes[alive], 2), np.tile(ends[alive], 2), np.tile(starts[alive], 2)
    call = np.arange(len(strike)) < len(strike) // 2
    years = (expiry - now_ms) / YEAR_MS
    usual, present, skew = _volatility(world, coin, minute)
    carry = world.market.carry(world.market.crowding(np.array([asset]), np.array([minute])))[0, 0]
    forward = index * np.exp(carry * years)
    moneyness = np.log(strike / forward)
    flat = variance(years, usual, present)
    total = surface(flat, moneyness, skew)
    deviation = np.sqrt(total)
    upper = -moneyness / deviation + 0.5 * deviation
    density = np.exp(-0.5 * upper**2) / (2 * np.pi) ** 0.5
    in_the_money = _normal(upper)
    worth = forward * in_the_money - strike * _normal(upper - deviation)
    iv = deviation / np.sqrt(years)
    half = np.clip(0.004 + 0.03 * np.abs(moneyness) / np.sqrt(years + 0.02), 0.004, 0.6) * iv
    delta = np.where(call, in_the_money, in_the_money - 1.0)
    none = np.zeros(len(strike))
    made = Chain(
        coin=coin,
        index=index,
        expiry_ms=expiry,
        strike=strike,
        call=call,
        listed_ms=listing,
        forward=forward,
        atm_iv=np.sqrt(surface(flat, np.zeros_like(flat), skew) / years),
        mark_iv=iv,
        bid_iv=np.where(np.abs(delta) < 0.01, np.nan, iv - half),
        ask_iv=iv + half,
        price=np.where(call, worth, worth - forward + strike),
        delta=delta,
        gamma=density / (forward * deviation),
        vega=forward * density * np.sqrt(years) / 100.0,
        theta=-forward * density * iv / (2.0 * np.sqrt(years)) / 365.0,
        open_interest=none,
        volume_24h=none,
    )
    held, traded = _held(world, venue, made, minute, held_coins)
    return replace(made, open_interest=held, volume_24h=traded)
