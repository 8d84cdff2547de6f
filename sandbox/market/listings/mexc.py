"""The markets of MEXC: perpetuals margined in USDT, USDC and coins, counted in contracts, and spot."""

from math import log10

from sandbox.market.assets import Asset, assets
from sandbox.market.listing import Listing, coins, dates, intervals, lot_decimals, price_decimals, size
from sandbox.market.noise import fraction

FUNDING_CAP = 0.003  # per interval, of most perpetuals, as in recorded responses

PREFIX = {
    "BONK": ("1000BONK", 1e3), "RATS": ("1000RATS", 1e3), "MOG": ("1000000MOG", 1e6), "LADYS": ("10000LADYS", 1e4),
    "BABYDOGE": ("1000000BABYDOGE", 1e6), "BTT": ("1000BTT", 1e3), "WHY": ("10000WHY", 1e4),
}  # fmt: skip
NAMES = {"TON": "TONCOIN", "FIL": "FILECOIN", "TRUMP": "TRUMPOFFICIAL", "PUMP": "PUMPFUN", "ZK": "ZKSYNC"}
COIN_MARGINED = ("BTC", "ETH", "LTC", "XRP", "ADA", "LINK", "AVAX", "SOL", "DOGE", "SUI")
CONTRACTS = {"BTC": 0.0001, "ETH": 0.01}
SPOT_QUOTES = {"USDT": (2000, 0.93, 0.05), "USDC": (130, 0.9, 0.006), "EUR": (16, 0.9, 0.0008), "BTC": (24, 0.9, 4e-4)}
_CONTRACT_USD = 8.0


def contract_size(asset: Asset, units: float) -> float:
    """Raw base units of a contract: a power of ten that makes it worth some dollars, as on the venue's list."""
    if asset.name in CONTRACTS:
        return CONTRACTS[asset.name]
    return 10.0 ** min(7, max(-4, round(log10(_CONTRACT_USD / (asset.price * units)))))


def _perp(asset: Asset, raw: str, units: float, quote: str, share: float) -> Listing:
    symbol, inverse = f"{raw}_{quote}", quote == "USD"
    identity = f"mexc:perp:{symbol}"
    listed, delisted = dates(identity, asset.rank, 0.14)
    chosen = fraction("interval", identity)
    settled = 8 if asset.rank < 25 or chosen > 0.55 else 1 if chosen < 0.03 else 4
    contract = (100.0 if asset.name == "BTC" else 10.0) if inverse else contract_size(asset, units)
    # A lot is one contract; a coin-margined one is worth a round sum and no round number of coins.
    lots = lot_decimals(asset.price) if inverse else -round(log10(contract))
    return Listing(
        "mexc", "perp", symbol, raw, quote, asset.name, quote, units, size(identity, asset, share), listed, delisted,
        price_decimals(asset.price * units, 6, 10), lots, intervals(identity, listed, settled, 8),
        contract_size=contract, inverse=inverse,
    )  # fmt: skip


def _spot(asset: Asset, quote: str, share: float) -> Listing:
    symbol = asset.name + quote
    identity = f"mexc:spot:{symbol}"
    listed, delisted = dates(identity, asset.rank, 0.1)
    return Listing(
        "mexc", "spot", symbol, asset.name, quote, asset.name, quote, 1.0, size(identity, asset, share), listed,
        delisted, price_decimals(asset.price / assets()[quote].price, 6, 12), lot_decimals(asset.price),
    )  # fmt: skip


def listings() -> list[Listing]:
    """All markets of MEXC, past, present and to come."""
    rows: list[Listing] = []
    for asset in coins():
        raw, units = PREFIX.get(asset.name, (NAMES.get(asset.name, asset.name), 1.0))
        if asset.rank < 200 or fraction("mexc perp", asset.name) < 0.57:
            rows.append(_perp(asset, raw, units, "USDT", 0.25))
        if asset.rank < 75 and asset.name not in PREFIX:
            rows.append(_perp(asset, asset.name, 1.0, "USDC", 0.01))
        if asset.name in COIN_MARGINED:
            rows.append(_perp(asset, asset.name, 1.0, "USD", 0.004))
        for quote, (last_rank, kept, share) in SPOT_QUOTES.items():
            wanted = asset.rank < 100 or fraction("mexc spot", asset.name) < kept
            if asset.rank < last_rank and wanted and asset.name != quote and asset.price / assets()[quote].price > 1e-9:
                rows.append(_spot(asset, quote, share))
    rows.append(_spot(assets()["USDC"], "USDT", 0.0))
    return rows
