"""The markets of Lighter: perpetuals on coins, stocks and currencies, numbered from 0, and spot numbered from 2048."""

from sandbox.market.assets import Asset, assets
from sandbox.market.listing import Listing, coins, dates, lot_decimals, price_decimals, size
from sandbox.market.noise import fraction

PREFIX = {name: (f"1000{name}", 1e3) for name in ("PEPE", "SHIB", "BONK", "FLOKI")}
FIRST_MS = 1_737_072_000_000  # January 2025
FIRST_SPOT = 2048


def _listing(kind: str, asset: Asset, symbol: str, raw: str, units: float, share: float, index: int) -> Listing:
    identity = f"lighter:{kind}:{symbol}"
    listed, delisted = dates(identity, asset.rank if asset.kind == "coin" else 50, 0.08)
    listed = max(
        listed, FIRST_MS + int(fraction("first", identity) * 8_000) * 3_600_000 if asset.rank > 20 else FIRST_MS
    )
    delisted = max(delisted, listed + 60 * 86_400_000)
    return Listing(
        "lighter", kind, symbol, raw, "USDC", asset.name, "USDC", units, size(identity, asset, share), listed, delisted,
        price_decimals(asset.price * units, 6, 8), min(5, lot_decimals(asset.price * units)),
        ((0, 1),) if kind == "perp" else (), "", index,
    )  # fmt: skip


def listings() -> list[Listing]:
    """All markets of Lighter, past, present and to come."""
    perps: list[tuple[Asset, str, float]] = []
    ranked = coins()
    # The first market is ETH's, the second BTC's.
    for asset in [ranked[1], ranked[0], *ranked[2:]]:
        raw, units = PREFIX.get(asset.name, (asset.name, 1.0))
        if asset.price * units < 1e-5:
            continue
        if asset.rank < 70 or (asset.rank < 500 and fraction("lighter perp", asset.name) < 0.34):
            perps.append((asset, raw, units))
    perps += [(asset, asset.name, 1.0) for asset in assets().values() if asset.kind == "stock"]
    rows = [_listing("perp", asset, raw, raw, units, 0.08, at) for at, (asset, raw, units) in enumerate(perps)]
    for at, asset in enumerate([ranked[1], ranked[0], *ranked[2:15]]):
        rows.append(_listing("spot", asset, f"{asset.name}/USDC", asset.name, 1.0, 0.003, FIRST_SPOT + at))
    return rows
