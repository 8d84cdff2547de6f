"""The won markets of Bithumb: more coins than Upbit's, less of each, and the dollar tokens, which came in 2023."""

from datetime import UTC, datetime

from sandbox.market.assets import Asset, assets
from sandbox.market.listing import FIRST_MS, NEVER_MS, Listing, coins, dates, lot_decimals, price_decimals, size
from sandbox.market.noise import fraction

# token -> (first day, USD a day)
DOLLARS = {"USDT": (datetime(2023, 12, 7, tzinfo=UTC), 90e6), "USDC": (datetime(2024, 1, 10, tzinfo=UTC), 3e6)}
_FAVOURITES = {"XRP": 0.05, "DOGE": 0.03}


def _market(asset: Asset) -> Listing:
    symbol = f"KRW-{asset.name}"
    identity = f"bithumb:spot:{symbol}"
    if asset.name in DOLLARS:
        first, volume = DOLLARS[asset.name]
        listed, delisted = int(first.timestamp() * 1000), NEVER_MS
    else:
        volume = size(identity, asset, _FAVOURITES.get(asset.name, 0.01))
        listed, delisted = dates(identity, asset.rank, 0.12)
        listed = FIRST_MS if asset.rank < 4 else listed  # the premiums' coins: since long
    return Listing(
        "bithumb", "spot", symbol, asset.name, "KRW", asset.name, "KRW", 1.0, volume, listed, delisted,
        price_decimals(asset.price / assets()["KRW"].price, 4, 8), min(8, lot_decimals(asset.price) + 2),
    )  # fmt: skip


def listings() -> list[Listing]:
    """All won markets of Bithumb, past, present and to come."""
    chosen = [
        asset for asset in coins()
        if asset.rank < 80 or (asset.rank < 900 and fraction("bithumb", asset.name) < 0.44)
    ]  # fmt: skip
    return [_market(asset) for asset in [*chosen, *(assets()[name] for name in DOLLARS)]]
