"""The true values of the simulated market per minute: the reference of the end-to-end tests."""

from typing import Any

import numpy as np

from sandbox.derived.wallets import Wallets
from sandbox.market.derivatives import funding_hours, funding_rate, liquidations, open_interest
from sandbox.market.universe import MINUTE_MS
from sandbox.market.world import World

LONGEST_MINUTES = 7 * 1440


def truth(
    world: World,
    venue: str,
    kind: str,
    symbol: str,
    from_ms: int,
    to_ms: int,
    window_ms: int | None,
    holders: Wallets | None = None,
) -> dict[str, Any]:
    """Per minute in [from, to): prices in USD per ONE coin, sizes in coins, money in USD; KeyError if unknown.

    `price` is the price at the minute's start; a ticker that is asked within the minute lies between `price` and
    `close`. Quotes like USDT count as 1 USD. `sent` says whether the venue publishes the liquidation:
    all of them, or the latest in each `window_ms`; None where it publishes none. Where the venue shows who holds what,
    the liquidations are those of `holders`, and `positions` are what is open at the end.
    """
    row = world.universe.row[venue, kind, symbol]
    rows, listing = np.array([row]), world.universe.listings[row]
    first, last = from_ms // MINUTE_MS, -(-to_ms // MINUTE_MS)
    minutes = np.arange(first, last)
    if not 0 < len(minutes) <= LONGEST_MINUTES:
        raise ValueError(f"from and to must span 1 to {LONGEST_MINUTES} minutes")
    bars = world.market.bars(rows, first // 60, (last - 1) // 60 - first // 60 + 1)
    cut = slice(first - first // 60 * 60, first - first // 60 * 60 + len(minutes))
    asset = np.array([world.universe.quote[row]])
    quote_usd = np.exp(world.market.asset_logs(asset, minutes))[0]
    per_coin = quote_usd / listing.units
    hours = funding_hours(world.market, rows, minutes)
    columns = {
        "price": bars.open[0, cut] * per_coin,
        "high": bars.high[0, cut] * per_coin,
        "low": bars.low[0, cut] * per_coin,
        "close": bars.close[0, cut] * per_coin,
        "volume_usd": bars.quote_volume[0, cut] * quote_usd,
        "volume_base": bars.volume[0, cut] * listing.units,
        "taker_buy_usd": (bars.quote_volume * bars.taker_buy)[0, cut] * quote_usd,
        "oi_base": open_interest(world.market, rows, minutes)[0] * listing.units,
        "mark_price": np.exp(world.market.index_logs(rows, minutes)[0]) * per_coin
        * (1.0 + world.market.premium(rows, minutes)[0] * world.universe.perp[row]),
        "funding_rate": funding_rate(world.market, rows, minutes, hours)[0],
        "funding_interval_h": hours[0],
    }  # fmt: skip
    listed = world.market.listed(rows, minutes)[0]
    perp = listing.type == "perp"
    out = []
    for n, minute in enumerate(minutes.tolist()):
        if not listed[n]:
            continue
        point: dict[str, Any] = {"minute_ms": minute * MINUTE_MS}
        for name, column in columns.items():
            missing = not perp and name in ("oi_base", "funding_rate", "funding_interval_h", "mark_price")
            point[name] = None if missing else column[n].item()
        out.append(point)
    events = _liquidations(world, row, minutes, window_ms) if perp and window_ms is not None else []
    found = {"venue": venue, "type": kind, "symbol": symbol, "coin": listing.coin, "quote": listing.quote,
            "units": listing.units, "minutes": out, "liquidations": events}  # fmt: skip
    if perp and holders is not None:
        found |= {"liquidations": _of_holders(world, holders, row, from_ms, to_ms),
                 "positions": _positions(world, holders, row, to_ms)}  # fmt: skip
    return found


def _positions(world: World, holders: Wallets, row: int, at_ms: int) -> list[dict[str, Any]]:
    found, units = holders.open_at(at_ms), world.universe.listings[row].units
    return [_position(holders, one, units) for one in found.where(found.row == row).each()]


def _position(holders: Wallets, one: dict[str, Any], units: float) -> dict[str, Any]:
    return {
        "wallet": holders.owner(one["seat"]), "side": "long" if one["long"] else "short",
        "size_base": one["size"] * units, "entry_price": one["entry"] / units,
        "liquidation_price": one["liquidation"] / units, "leverage": one["leverage"], "opened_ms": one["opened_ms"],
        "closed_ms": one["closed_ms"], "liquidated": one["liquidated"],
    }  # fmt: skip


def _of_holders(world: World, holders: Wallets, row: int, from_ms: int, to_ms: int) -> list[dict[str, Any]]:
    found, units = holders.between(from_ms, to_ms), world.universe.listings[row].units
    inside = found.liquidated & (found.row == row) & (from_ms <= found.closed_ms) & (found.closed_ms < to_ms)
    out = []
    for one in found.where(inside).each():
        price = holders.mark(row, one["closed_ms"] // MINUTE_MS)
        out.append({
            "ts": one["closed_ms"], "side": "long" if one["long"] else "short", "size_base": one["size"] * units,
            "price": price / units, "usd": one["size"] * price, "sent": True, "wallet": holders.owner(one["seat"]),
            "method": "backstop" if one["backstop"] else "market",
        })  # fmt: skip
    return sorted(out, key=lambda event: event["ts"])


def _liquidations(world: World, row: int, minutes: np.ndarray[Any, Any], window_ms: int) -> list[dict[str, Any]]:
    found = liquidations(world.market, np.array([row]), minutes)
    listing = world.universe.listings[row]
    out = []
    for n, ts in enumerate(found.ts.tolist()):
        following = found.ts[n + 1].item() if n + 1 < len(found.ts) else None
        sent = window_ms == 0 or following is None or following // window_ms != ts // window_ms
        size, price = found.size[n].item(), found.price[n].item()
        out.append({
            "ts": ts, "side": "long" if found.long[n] else "short", "size_base": size * listing.units,
            "price": price / listing.units, "usd": size * price, "sent": sent,
        })  # fmt: skip
    return out
