"""The markets of KuCoin: perpetuals margined in USDT, USDC and coins, counted in lots (bitcoin as XBT), and spot."""

from math import log10

from sandbox.market.assets import Asset, assets
from sandbox.market.listing import Listing, coins, dates, intervals, lot_decimals, price_decimals, size
from sandbox.market.noise import fraction

FUNDING_CAP = 0.003  # per interval, of most perpetuals, as in recorded responses

PREFIX = {"BTC": ("XBT", 1.0), "BONK": ("1000BONK", 1e3), "SATS": ("10000SATS", 1e4), "RATS": ("1000RATS", 1e3)}
LOTS = {"BTC": 0.001, "ETH": 0.01, "SOL": 0.1, "XRP": 10.0, "DOGE": 100.0}
COIN_MARGINED = ("BTC", "ETH", "SOL", "XRP")
SPOT_QUOTES = {"USDT": (1700, 0.44, 0.04), "USDC": (60, 1.0, 0.004), "BTC": (60, 1.0, 3e-4), "ETH": (20, 1.0, 2e-4),
               "EUR": (12, 1.0, 5e-4)}  # fmt: skip
_LOT_USD = 8.0


def lot_size(asset: Asset, units: float) -> float:
    """Raw base units of a lot: a power of ten that makes it worth some dollars."""
    if asset.name in LOTS:
        return LOTS[asset.name]
    return 10.0 ** min(7, max(-4, round(log10(_LOT_USD / (asset.price * units)))))


def _perp(asset: Asset, quote: str, share: float) -> Listing:
    raw, units = PREFIX.get(asset.name, (asset.name, 1.0))
    symbol, inverse = f"{raw}{quote}M", quote == "USD"
    identity = f"kucoin:perp:{symbol}"
    listed, delisted = dates(identity, asset.rank, 0.14)
    chosen = fraction("interval", identity)
    settled = 8 if asset.rank < 25 or chosen > 0.5 else 1 if chosen < 0.03 else 4
    lot = 1.0 if inverse else lot_size(asset, units)
    # A lot of an inverse contract is worth 1 USD and no round number of coins.
    decimals = lot_decimals(asset.price) + 1 if inverse else -round(log10(lot))
    return Listing(
        "kucoin", "perp", symbol, raw, quote, asset.name, quote, units, size(identity, asset, share), listed, delisted,
        price_decimals(asset.price * units, 6, 10), decimals, intervals(identity, listed, settled, 8),
        contract_size=lot, inverse=inverse,
    )  # fmt: skip


def _spot(asset: Asset, quote: str, share: float) -> Listing:
    symbol = f"{asset.name}-{quote}"
    identity = f"kucoin:spot:{symbol}"
    listed, delisted = dates(identity, asset.rank, 0.1)
    return Listing(
        "kucoin", "spot", symbol, asset.name, quote, asset.name, quote, 1.0, size(identity, asset, share), listed,
        delisted, price_decimals(asset.price / assets()[quote].price, 6, 12), lot_decimals(asset.price),
    )  # fmt: skip


def listings() -> list[Listing]:
    """All markets of KuCoin, past, present and to come."""
    rows: list[Listing] = []
    for asset in coins():
        if asset.rank < 150 or (asset.rank < 1700 and fraction("kucoin perp", asset.name) < 0.28):
            rows.append(_perp(asset, "USDT", 0.08))
        if asset.rank < 25:
            rows.append(_perp(asset, "USDC", 0.003))
        if asset.name in COIN_MARGINED:
            rows.append(_perp(asset, "USD", 0.002))
        for quote, (last_rank, kept, share) in SPOT_QUOTES.items():
            wanted = asset.rank < 100 or fraction("kucoin spot", asset.name) < kept
            if asset.rank < last_rank and wanted and asset.name != quote and asset.price / assets()[quote].price > 1e-9:
                rows.append(_spot(asset, quote, share))
    rows.append(_spot(assets()["USDC"], "USDT", 0.0))
    return rows
