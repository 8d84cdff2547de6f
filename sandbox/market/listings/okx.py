"""The markets of OKX: perpetual swaps (in USDT, USDC and coin-margined), and spot."""

from math import log10

from sandbox.market.assets import Asset, assets
from sandbox.market.listing import Listing, coins, dates, intervals, lot_decimals, price_decimals, size
from sandbox.market.noise import fraction

FUNDING_CAP = 0.0075  # per interval, of most perpetuals, as in recorded responses

# Coins of one contract as OKX lists them; others follow the same rule: a contract is worth about ten dollars.
CONTRACTS = {"BTC": 0.01, "ETH": 0.1, "SOL": 1.0, "XRP": 100.0, "DOGE": 1000.0, "BNB": 0.01, "LTC": 1.0, "BCH": 0.1,
             "PEPE": 1e7, "SHIB": 1e6, "ADA": 100.0, "AVAX": 1.0, "LINK": 1.0, "BABYDOGE": 1e9, "BTT": 1e6}  # fmt: skip
COIN_MARGINED = ("BTC", "ETH", "SOL", "XRP", "DOGE", "LTC", "BCH", "ADA", "AVAX", "LINK", "DOT", "UNI", "TRX", "SUI",
                 "FIL", "ETC", "TON", "XLM", "ATOM", "ALGO")  # fmt: skip
SPOT_QUOTES = {
    "USDT": (700, 0.45, 0.07), "USDC": (420, 0.4, 0.006), "USD": (160, 0.5, 0.004), "EUR": (70, 0.6, 0.001),
    "BTC": (40, 0.7, 0.0005), "TRY": (40, 0.6, 0.0004), "BRL": (14, 0.8, 0.0002), "ETH": (14, 0.6, 0.0002),
    "AED": (12, 0.8, 0.0001), "SGD": (12, 0.6, 0.0001),
}  # fmt: skip


def _contract(asset: Asset) -> float:
    found = CONTRACTS.get(asset.name)
    return found if found is not None else float(10.0 ** min(9, round(log10(10.0 / asset.price))))


def _swap(asset: Asset, quote: str, share: float) -> Listing:
    symbol = f"{asset.name}-{quote}-SWAP"
    identity = f"okx:perp:{symbol}"
    listed, delisted = dates(identity, asset.rank if asset.kind == "coin" else 300, 0.12)
    chosen = fraction("interval", identity)
    settled = 8 if asset.rank < 25 or chosen > 0.5 else 1 if chosen < 0.03 else 2 if chosen < 0.06 else 4
    inverse, contract = quote == "USD", _contract(asset)
    # Lots are hundredths of a contract of the great coins, tenths and whole ones of the others.
    lot = contract * (0.01 if asset.rank < 15 else 0.1 if asset.rank < 100 else 1.0)
    return Listing(
        "okx", "perp", symbol, asset.name, quote, asset.name, quote, 1.0, size(identity, asset, share), listed,
        delisted, price_decimals(asset.price, 6, 14), -round(log10(lot)), intervals(identity, listed, settled, 8),
        contract_size=(100.0 if asset.name == "BTC" else 10.0) if inverse else contract, inverse=inverse,
    )  # fmt: skip


def _spot(asset: Asset, quote: str, share: float) -> Listing:
    symbol = f"{asset.name}-{quote}"
    identity = f"okx:spot:{symbol}"
    listed, delisted = dates(identity, asset.rank, 0.1)
    return Listing(
        "okx", "spot", symbol, asset.name, quote, asset.name, quote, 1.0, size(identity, asset, share), listed,
        delisted, price_decimals(asset.price / assets()[quote].price, 6, 14), lot_decimals(asset.price),
    )  # fmt: skip


def listings() -> list[Listing]:
    """All markets of OKX, past, present and to come."""
    rows: list[Listing] = []
    for asset in coins():
        if asset.rank < 130 or (asset.rank < 1000 and fraction("okx perp", asset.name) < 0.42):
            rows.append(_swap(asset, "USDT", 0.3))
        if asset.rank < 12:
            rows.append(_swap(asset, "USDC", 0.004))
        if asset.name in COIN_MARGINED:
            rows.append(_swap(asset, "USD", 0.02))
        for quote, (last_rank, kept, share) in SPOT_QUOTES.items():
            wanted = asset.rank < 12 or fraction("okx spot", asset.name, quote) < kept
            if asset.rank < last_rank and wanted and asset.name != quote and asset.price / assets()[quote].price > 1e-9:
                rows.append(_spot(asset, quote, share))
    rows += [_swap(asset, "USDT", 0.15) for asset in assets().values() if asset.category == "stocks"]
    rows.append(_spot(assets()["USDC"], "USDT", 0.0))
    return rows
