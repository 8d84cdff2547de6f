"""The won markets of Upbit: coins of some rank, and the dollar tokens, which came in 2024."""

from datetime import UTC, datetime

from sandbox.market.assets import Asset, assets
from sandbox.market.listing import FIRST_MS, NEVER_MS, Listing, coins, dates, lot_decimals, price_decimals, size
from sandbox.market.noise import fraction

# token -> (first day, USD a day)
DOLLARS = {"USDT": (datetime(2024, 6, 20, tzinfo=UTC), 160e6), "USDC": (datetime(2025, 3, 27, tzinfo=UTC), 6e6)}
_FAVOURITES = {"XRP": 0.12, "DOGE": 0.06}  # traded more in Korea than their size suggests


def _market(asset: Asset) -> Listing:
    symbol = f"KRW-{asset.name}"
    identity = f"upbit:spot:{symbol}"
    if asset.name in DOLLARS:
        first, volume = DOLLARS[asset.name]
        listed, delisted = int(first.timestamp() * 1000), NEVER_MS
    else:
        volume = size(identity, asset, _FAVOURITES.get(asset.name, 0.025))
        listed, delisted = dates(identity, asset.rank, 0.1)
        listed = FIRST_MS if asset.rank < 4 else listed  # the premiums' coins: since long
    return Listing(
        "upbit", "spot", symbol, asset.name, "KRW", asset.name, "KRW", 1.0, volume, listed, delisted,
        price_decimals(asset.price / assets()["KRW"].price, 4, 8), min(8, lot_decimals(asset.price) + 2),
    )  # fmt: skip


def listings() -> list[Listing]:
    """All won markets of Upbit, past, present and to come."""
    chosen = [
        asset for asset in coins()
        if asset.name != "BNB"
        and (asset.rank < 60 or (asset.rank < 560 and fraction("upbit", asset.name) < 0.36))
    ]  # fmt: skip
    return [_market(asset) for asset in [*chosen, *(assets()[name] for name in DOLLARS)]]
