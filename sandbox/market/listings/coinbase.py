"""The products of Coinbase Exchange: most quoted in dollars, some in euros, pounds, dollar tokens and bitcoin."""

from sandbox.market.assets import Asset, assets
from sandbox.market.listing import FIRST_MS, Listing, coins, dates, lot_decimals, price_decimals, size
from sandbox.market.noise import fraction

# quote -> (last rank, share of those up to it, volume share)
QUOTES = {"USD": (620, 0.46, 0.06), "EUR": (60, 0.6, 0.004), "GBP": (40, 0.5, 0.001), "USDT": (24, 0.7, 0.003),
          "BTC": (24, 0.6, 0.001)}  # fmt: skip
_DOLLARS = {"USDT": 110e6, "DAI": 0.4e6}


def _product(asset: Asset, quote: str, volume: float) -> Listing:
    symbol = f"{asset.name}-{quote}"
    identity = f"coinbase:spot:{symbol}"
    listed, delisted = dates(identity, asset.rank, 0.12)
    listed = FIRST_MS if asset.rank < 4 else listed  # the premiums' coins: since long
    return Listing(
        "coinbase", "spot", symbol, asset.name, quote, asset.name, quote, 1.0, volume, listed, delisted,
        price_decimals(asset.price / assets()[quote].price, 7, 10), min(8, lot_decimals(asset.price) + 3),
    )  # fmt: skip


def listings() -> list[Listing]:
    """All products of Coinbase Exchange, past, present and to come."""
    rows: list[Listing] = []
    for asset in coins():
        for quote, (last_rank, share, volume_share) in QUOTES.items():
            chosen = asset.rank < 12 or fraction("coinbase", quote, asset.name) < share
            if asset.rank < last_rank and chosen and asset.name != quote:
                rows.append(_product(asset, quote, size(f"coinbase:{asset.name}-{quote}", asset, volume_share)))
    return rows + [_product(assets()[name], "USD", volume) for name, volume in _DOLLARS.items()]
