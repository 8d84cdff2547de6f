"""The markets of Hyperliquid: core perpetuals, HIP-3 dexes with `dex:SYM` coins, and spot pairs named by index."""

from sandbox.market.assets import Asset, assets
from sandbox.market.listing import Listing, coins, dates, lot_decimals, price_decimals, size
from sandbox.market.noise import fraction

FUNDING_CAP = 0.04  # per interval, of most perpetuals, as documented

PREFIX = {name: (f"k{name}", 1e3) for name in ("PEPE", "SHIB", "BONK", "FLOKI", "LUNC", "DOGS", "NEIRO")}
# dex: (full name, collateral token index, markets, what it lists)
DEXES = {
    "xyz": ("XYZ", 0, 90, "stock"), "flx": ("Felix Exchange", 360, 15, "stock"), "vntl": ("Ventuals", 360, 15, "any"),
    "hyna": ("HyENA", 235, 24, "coin"), "km": ("Markets by Kinetiq", 360, 22, "any"), "abcd": ("ABCDEx", 0, 0, "any"),
    "cash": ("dreamcash", 268, 20, "stock"), "para": ("Paragon", 0, 14, "coin"),
}  # fmt: skip
COLLATERAL = {0: "USDC", 235: "USDE", 268: "USDT0", 360: "USDH"}
# Spot pairs whose index is known: token -> (asset, universe index); Unit tokens carry a U
SPOT_KNOWN = {"PURR": ("PURR", 0), "HYPE": ("HYPE", 107), "UBTC": ("BTC", 142), "UETH": ("ETH", 151),
              "USOL": ("SOL", 156), "UFART": ("FARTCOIN", 162), "UPUMP": ("PUMP", 188)}  # fmt: skip


def _perp(asset: Asset, symbol: str, raw: str, units: float, share: float, dex: str, quote: str) -> Listing:
    identity = f"hyperliquid:perp:{symbol}"
    listed, delisted = dates(identity, asset.rank, 0.2)
    listed = max(listed, 1_677_628_800_000)  # the venue opened in March 2023
    if dex:
        listed = max(listed, 1_760_313_600_000 + int(fraction("hip3", symbol) * 4000) * 3_600_000)  # HIP-3: Oct 2025
    elif asset.rank < 3:
        listed = 1_677_628_800_000
    delisted = max(delisted, listed + 30 * 86_400_000)
    return Listing(
        "hyperliquid", "perp", symbol, raw, quote, asset.name, quote, units, size(identity, asset, share), listed,
        delisted, price_decimals(asset.price * units, 5, 6), min(5, lot_decimals(asset.price * units)),
        ((0, 1),), dex, int(fraction("leverage", symbol) * 4),
    )  # fmt: skip


def _spot(asset: Asset, token: str, index: int, share: float, quote: str = "USDC") -> Listing:
    symbol = f"{token}/USDC" if index == 0 else f"@{index}"
    identity = f"hyperliquid:spot:{symbol}"
    listed, delisted = dates(identity, asset.rank, 0.1)
    listed = max(listed, 1_713_139_200_000)  # spot opened in April 2024
    delisted = max(delisted, listed + 30 * 86_400_000)
    return Listing(
        "hyperliquid", "spot", symbol, token, quote, asset.name, quote, 1.0, size(identity, asset, share), listed,
        delisted, price_decimals(asset.price, 5, 8), min(5, lot_decimals(asset.price)), (), "", index,
    )  # fmt: skip


def _dex_markets(dex: str) -> list[Listing]:
    _, collateral, count, lists = DEXES[dex]
    stocks = [asset for asset in assets().values() if asset.kind == "stock"]
    pool = {"stock": stocks, "coin": coins()[:60], "any": stocks + coins()[:10]}[lists]
    rows = []
    for number in range(count):
        asset = pool[number % len(pool)]
        # The real dexes list more stocks than the world knows by name: the later ones are numbered listings of it.
        raw = asset.name if number < len(pool) else f"{asset.name}{number // len(pool) + 1}"
        rows.append(_perp(asset, f"{dex}:{raw}", raw, 1.0, 0.25, dex, COLLATERAL[collateral]))
    return rows


def listings() -> list[Listing]:
    """All markets of Hyperliquid, past, present and to come."""
    rows: list[Listing] = []
    for asset in coins():
        raw, units = PREFIX.get(asset.name, (asset.name, 1.0))
        tiny = asset.price * units < 1e-5
        if not tiny and (asset.rank < 40 or (asset.rank < 420 and fraction("hl perp", asset.name) < 0.55)):
            share = 2.0 if asset.name == "HYPE" else 0.2
            rows.append(_perp(asset, raw, raw, units, share, "", "USDC"))
    for dex in DEXES:
        rows += _dex_markets(dex)
    taken = {index for _, index in SPOT_KNOWN.values()}
    for token, (name, index) in SPOT_KNOWN.items():
        rows.append(_spot(assets()[name], token, index, 0.02))
    free = (index for index in range(1, 1000) if index not in taken)
    for asset in coins()[900:1160]:
        quote = "USDC" if fraction("spot quote", asset.name) < 0.93 else "USDH"
        rows.append(_spot(asset, asset.name, next(free), 0.02, quote))
    return rows
