"""All markets of the simulated world as columns: one row per market, over all venues of `listings`."""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from sandbox.market.assets import COINS_SMALL, Asset, assets
from sandbox.market.listing import NEVER_MS, Listing, coins
from sandbox.market.listings import LISTINGS
from sandbox.market.noise import Floats, Ints

MINUTE_MS = 60_000
SMALL_STOCKS = 6  # of each dex in the small universe
NAMES = ("small", "full", "triple")
_COPIES = ("II", "III")  # what the symbols of a coin's copies end with
_OF_VOLUME = 0.1  # what a copy trades of its original's volume


@dataclass(frozen=True, slots=True, eq=False)
class Universe:
    """Markets (rows) and the assets that they are made of; indices point into `assets`."""

    name: str
    listings: tuple[Listing, ...]
    assets: tuple[Asset, ...]
    coin: Ints
    quote: Ints
    units: Floats
    volume_usd: Floats
    listed: Ints  # minutes since the epoch
    delisted: Ints
    scale: Floats  # 10 ** price decimals
    lot_scale: Floats
    perp: Floats  # 1.0 for perpetuals, 0.0 otherwise
    future: Floats
    funded_since: Ints  # minutes at which a funding interval came into force [rows, changes], oldest first
    funded_hours: Ints  # that interval
    row: dict[tuple[str, str, str], int]  # (venue, type, symbol) -> row

    def rows(self, venue: str, *types: str) -> Ints:
        """The rows of a venue's markets of these types, listed or not."""
        found = [n for n, one in enumerate(self.listings) if one.venue == venue and one.type in types]
        return np.array(found, dtype=np.int64)


def _small(rows: list[Listing]) -> list[Listing]:
    """About 40 coins and a few stocks; every market keeps the properties that it has in the full universe."""
    names = {asset.name for asset in coins()[:COINS_SMALL]} | {"PURR"}
    stocks = [asset.name for asset in assets().values() if asset.kind == "stock"][:SMALL_STOCKS]
    quotes = {name for name, asset in assets().items() if asset.kind in ("stable", "fiat")}
    kept = []
    for one in rows:
        stock = one.coin in stocks and one.base_raw == one.coin
        coin = one.coin in names | quotes and (one.group == "" or one.base_raw in {"BTC", "ETH", "SOL"})
        if (stock or coin) and one.quote_asset in names | quotes:
            kept.append(one)
    return kept


def _tripled(rows: list[Listing]) -> tuple[list[Listing], list[Asset]]:
    """The full universe with two copies of most coins and their markets, and these coins: a test of load. A venue that
    numbers its markets keeps those that it has."""
    numbered = {one.venue for one in rows if one.index}
    kept = [
        one
        for one in rows
        if one.venue not in numbered and one.type != "future" and one.units == 1.0
        if assets()[one.coin].kind == "coin" and one.symbol.count(one.base_raw) == 1
    ]
    copies = [
        replace(
            one,
            symbol=one.symbol.replace(one.base_raw, one.base_raw + copy),
            base_raw=one.base_raw + copy,
            coin=one.coin + copy,
            volume_usd=one.volume_usd * _OF_VOLUME,
        )
        for copy in _COPIES
        for one in kept
    ]
    copied = {one.coin for one in kept}
    made = [
        replace(asset, name=asset.name + copy, volume_usd=asset.volume_usd * _OF_VOLUME)
        for copy in _COPIES
        for asset in coins()
        if asset.name in copied
    ]
    return [*rows, *copies], made


def _padded(rows: list[list[int]], filling: int) -> Ints:
    """Rows of different lengths as one array."""
    most = max(map(len, rows))
    return np.array([row + [filling] * (most - len(row)) for row in rows], dtype=np.int64)


@cache
def build_universe(name: str) -> Universe:
    """The universe of this name."""
    if name not in NAMES:
        raise ValueError(f"universe must be one of {', '.join(NAMES)}, not {name!r}")
    rows = [one for listings in LISTINGS for one in listings()]
    copied = list[Asset]()
    if name == "small":
        rows = _small(rows)
    elif name == "triple":
        rows, copied = _tripled(rows)
    known = (*assets().values(), *copied)
    index = {asset.name: n for n, asset in enumerate(known)}
    used = sorted({index[one.coin] for one in rows} | {index[one.quote_asset] for one in rows})
    kept = tuple(known[n] for n in used)
    at = {asset.name: n for n, asset in enumerate(kept)}
    return Universe(
        name=name,
        listings=tuple(rows),
        assets=kept,
        coin=np.array([at[one.coin] for one in rows], dtype=np.int64),
        quote=np.array([at[one.quote_asset] for one in rows], dtype=np.int64),
        units=np.array([one.units for one in rows]),
        volume_usd=np.array([one.volume_usd for one in rows]),
        listed=np.array([one.listed_ms // MINUTE_MS for one in rows], dtype=np.int64),
        delisted=np.array([one.delisted_ms // MINUTE_MS for one in rows], dtype=np.int64),
        scale=10.0 ** np.array([one.decimals for one in rows]),
        lot_scale=10.0 ** np.array([one.lot_decimals for one in rows]),
        perp=np.array([float(one.type == "perp") for one in rows]),
        future=np.array([float(one.type == "future") for one in rows]),
        funded_since=_padded([[-(-since // MINUTE_MS) for since, _ in one.intervals] for one in rows], NEVER_MS),
        funded_hours=_padded([[hours for _, hours in one.intervals] for one in rows], 0),
        row={(one.venue, one.type, one.symbol): n for n, one in enumerate(rows)},
    )
