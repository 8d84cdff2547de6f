"""The markets of Gate: perpetuals settled in USDT, counted in contracts, the inverse BTC one, and spot."""

from math import log10

from sandbox.market.assets import Asset, assets
from sandbox.market.listing import Listing, coins, dates, intervals, lot_decimals, price_decimals, size
from sandbox.market.noise import fraction

PREFIX = {"BABYDOGE": ("MBABYDOGE", 1e6)}
CONTRACTS = {"BTC": 0.0001, "ETH": 0.01, "SOL": 1.0, "XRP": 10.0}
SPOT_QUOTES = {"USDT": (2000, 0.89, 0.05), "USDC": (24, 1.0, 0.002), "ETH": (40, 1.0, 2e-4), "BTC": (24, 1.0, 2e-4)}
_CONTRACT_USD = 3.0


def contract_size(asset: Asset, units: float) -> float:
    """Raw base units of a contract: a power of ten that makes it worth some dollars, 0.0001 to 100,000,000."""
    if asset.name in CONTRACTS:
        return CONTRACTS[asset.name]
    return 10.0 ** min(8, max(-4, round(log10(_CONTRACT_USD / (asset.price * units)))))


def _perp(asset: Asset, raw: str, units: float) -> Listing:
    symbol = f"{raw}_USDT"
    identity = f"gate:perp:{symbol}"
    listed, delisted = dates(identity, asset.rank, 0.14)
    chosen = fraction("interval", identity)
    settled = 8 if asset.rank < 25 or chosen > 0.6 else 1 if chosen < 0.03 else 4
    contract = contract_size(asset, units)
    return Listing(
        "gate", "perp", symbol, raw, "USDT", asset.name, "USDT", units, size(identity, asset, 0.22), listed, delisted,
        price_decimals(asset.price * units, 6, 12), -round(log10(contract)), intervals(identity, listed, settled, 8),
        contract_size=contract,
    )  # fmt: skip


def _inverse() -> Listing:
    asset = assets()["BTC"]
    # A contract is worth 1 USD and no round number of coins.
    return Listing(
        "gate", "perp", "BTC_USD", "BTC", "USD", "BTC", "USD", 1.0, 2e6, dates("gate:perp:BTC_USD", 0)[0],
        dates("gate:perp:BTC_USD", 0)[1], price_decimals(asset.price, 6, 8), 8, ((0, 8),), contract_size=1.0,
        inverse=True,
    )  # fmt: skip


def _spot(asset: Asset, quote: str, share: float) -> Listing:
    symbol = f"{asset.name}_{quote}"
    identity = f"gate:spot:{symbol}"
    listed, delisted = dates(identity, asset.rank, 0.1)
    return Listing(
        "gate", "spot", symbol, asset.name, quote, asset.name, quote, 1.0, size(identity, asset, share), listed,
        delisted, price_decimals(asset.price / assets()[quote].price, 6, 14), lot_decimals(asset.price),
    )  # fmt: skip


def listings() -> list[Listing]:
    """All markets of Gate, past, present and to come."""
    rows = [_inverse()]
    for asset in coins():
        raw, units = PREFIX.get(asset.name, (asset.name, 1.0))
        if asset.rank < 220 or fraction("gate perp", asset.name) < 0.49:
            rows.append(_perp(asset, raw, units))
        for quote, (last_rank, kept, share) in SPOT_QUOTES.items():
            wanted = asset.rank < 100 or fraction("gate spot", asset.name) < kept
            if asset.rank < last_rank and wanted and asset.name != quote:
                rows.append(_spot(asset, quote, share))
    rows.append(_spot(assets()["USDC"], "USDT", 0.0))
    return rows
