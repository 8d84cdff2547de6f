"""The markets of Aster: perpetuals on coins and stocks, Shield and USD-quoted symbols beside them, and some spot."""

from sandbox.market.assets import Asset, assets
from sandbox.market.listing import Listing, coins, dates, intervals, lot_decimals, price_decimals, size
from sandbox.market.noise import fraction

FUNDING_CAP = 0.03  # per interval, of most perpetuals, as in recorded responses

PREFIX = {name: (f"1000{name}", 1e3) for name in ("PEPE", "SHIB", "BONK", "FLOKI", "CHEEMS", "SATS", "RATS", "CAT")}
FIRST_MS = 1_690_156_800_000  # July 2023
SHIELD, DOLLAR = "shield", "dollar"
"""Groups of symbols that have a mark price and funding, but no order book, ticker or instrument."""


def _listing(kind: str, asset: Asset, raw: str, units: float, quote: str, share: float, group: str = "") -> Listing:
    symbol = raw + quote
    identity = f"aster:{kind}:{symbol}"
    listed, delisted = dates(identity, asset.rank if asset.kind == "coin" else 50, 0.1)
    listed = max(listed, FIRST_MS)
    delisted = max(delisted, listed + 30 * 86_400_000)
    steps: tuple[tuple[int, int], ...] = ()
    if kind == "perp":
        chosen = fraction("interval", identity)
        settled = 8 if asset.rank < 20 or chosen > 0.5 else 1 if chosen < 0.15 else 4
        steps = intervals(identity, listed, settled, 8)
    price = asset.price * units / assets()[quote].price
    return Listing(
        "aster", kind, symbol, raw, quote, asset.name, quote, units, size(identity, asset, share), listed, delisted,
        price_decimals(price, 6, 8), lot_decimals(asset.price * units), steps, group,
    )  # fmt: skip


def listings() -> list[Listing]:
    """All markets of Aster, past, present and to come."""
    rows: list[Listing] = []
    for asset in coins():
        raw, units = PREFIX.get(asset.name, (asset.name, 1.0))
        tiny = asset.price * units < 1e-6
        if not tiny and (asset.rank < 140 or (asset.rank < 1150 and fraction("aster perp", asset.name) < 0.44)):
            rows.append(_listing("perp", asset, raw, units, "USDT", 1.5 if asset.name == "ASTER" else 0.12))
        if asset.rank < 34 and not tiny and units == 1.0:
            rows.append(_listing("spot", asset, asset.name, 1.0, "USDT", 0.002))
        if asset.rank < 6:
            rows.append(_listing("spot", asset, asset.name, 1.0, "USD1", 0.0005))
        if asset.rank < 60 and units == 1.0:
            rows.append(_listing("perp", asset, asset.name, 1.0, "USD", 0.001, DOLLAR))
            rows.append(_listing("perp", asset, f"SHIELD{asset.name}", 1.0, "USDT", 0.001, SHIELD))
    for asset in assets().values():
        if asset.kind == "stock":
            rows.append(_listing("perp", asset, asset.name, 1.0, "USDT", 0.2))
    return rows
