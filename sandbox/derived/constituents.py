"""Index components: which spot markets of the simulated venues a perpetual's index is made of, with their weights."""

import numpy as np

from sandbox.market.world import World

_DOLLARS = ("USDT", "USDC", "USD")
_MOST = 8


def constituents(world: World, row: int, minute: int) -> list[tuple[str, str, str, float]]:
    """(venue, base, quote, weight) of the largest dollar spot market of the coin per venue; the weights add up to 1.

    A coin without any spot market has its own venue as the only source.
    """
    mine = world.universe.listings[row]
    listed, volume = world.minute(minute).listed, world.universe.volume_usd
    largest: dict[str, int] = {}
    for other in np.flatnonzero(world.universe.coin == world.universe.coin[row]).tolist():
        one = world.universe.listings[other]
        if one.type != "spot" or one.quote not in _DOLLARS or not listed[other] or one.coin == one.quote_asset:
            continue
        if one.venue not in largest or volume[other] > volume[largest[one.venue]]:
            largest[one.venue] = other
    if not largest:
        return [(mine.venue, mine.base_raw, mine.quote, 1.0)]
    chosen = sorted(largest.values(), key=lambda other: -volume[other])[:_MOST]
    share = np.rint(np.sqrt(volume[chosen]) / np.sqrt(volume[chosen]).sum() * 1e4) / 1e4
    share[0] = round(share[0] + 1.0 - share.sum(), 4)
    listings = world.universe.listings
    return [(listings[other].venue, listings[other].base_raw, listings[other].quote, weight)
            for other, weight in zip(chosen, share.tolist(), strict=True)]  # fmt: skip
