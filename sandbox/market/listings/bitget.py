"""The markets of Bitget: perpetuals margined in USDT, USDC and coins, dated coin-margined futures, and spot."""

from sandbox.market.assets import Asset, assets
from sandbox.market.listing import Listing, coins, dates, intervals, lot_decimals, price_decimals, quarters, size
from sandbox.market.noise import fraction

FUNDING_CAP = 0.003  # per interval, of most perpetuals, as in recorded responses

PREFIX = {
    "BONK": ("1000BONK", 1e3), "SATS": ("1000SATS", 1e3), "RATS": ("1000RATS", 1e3), "XEC": ("1000XEC", 1e3),
    "CAT": ("1000CAT", 1e3), "CHEEMS": ("1000CHEEMS", 1e3), "WHY": ("1000WHY", 1e3), "MOG": ("1000000MOG", 1e6),
    "BABYDOGE": ("1MBABYDOGE", 1e6), "BOBBSC": ("1000000BOB", 1e6), "LADYS": ("10000LADYS", 1e4),
    "ELON": ("10000ELON", 1e4),
}  # fmt: skip
COIN_MARGINED = ("BTC", "ETH", "XRP", "SOL", "DOGE", "LTC", "LINK", "AVAX")
SPOT_QUOTES = {"USDT": (1180, 0.62, 0.06), "USDC": (70, 0.9, 0.008), "EUR": (22, 0.9, 0.001), "BTC": (16, 0.9, 0.0005)}
_MONTHS = {3: "H", 6: "M", 9: "U", 12: "Z"}


def _perp(
    asset: Asset, symbol: str, raw: str, units: float, quote: str, share: float, *, inverse: bool = False
) -> Listing:
    identity = f"bitget:perp:{symbol}"
    listed, delisted = dates(identity, asset.rank if asset.kind == "coin" else 300, 0.12)
    chosen = fraction("interval", identity)
    settled = 8 if asset.rank < 25 or chosen > 0.6 else 1 if chosen < 0.04 else 4
    return Listing(
        "bitget", "perp", symbol, raw, quote, asset.name, quote, units, size(identity, asset, share), listed, delisted,
        price_decimals(asset.price * units, 6, 10), lot_decimals(asset.price * units),
        intervals(identity, listed, settled, 8), inverse=inverse,
    )  # fmt: skip


def _spot(asset: Asset, quote: str, share: float) -> Listing:
    symbol = asset.name + quote
    identity = f"bitget:spot:{symbol}"
    listed, delisted = dates(identity, asset.rank, 0.1)
    return Listing(
        "bitget", "spot", symbol, asset.name, quote, asset.name, quote, 1.0, size(identity, asset, share), listed,
        delisted, price_decimals(asset.price / assets()[quote].price, 6, 12), lot_decimals(asset.price),
    )  # fmt: skip


def _dated() -> list[Listing]:
    rows = []
    for name in COIN_MARGINED[:2]:
        asset = assets()[name]
        for listed, delivery in quarters():
            symbol = f"{name}USD{_MONTHS[delivery.month]}{delivery:%y}"
            rows.append(
                Listing("bitget", "future", symbol, name, "USD", name, "USD", 1.0, size(symbol, asset, 0.001),
                        int(listed.timestamp() * 1000), int(delivery.timestamp() * 1000),
                        price_decimals(asset.price, 6, 8), 3, inverse=True)
            )  # fmt: skip
    return rows


def listings() -> list[Listing]:
    """All markets of Bitget, past, present and to come."""
    rows: list[Listing] = []
    for asset in coins():
        raw, units = PREFIX.get(asset.name, (asset.name, 1.0))
        if asset.rank < 150 or (asset.rank < 1500 and fraction("bitget perp", asset.name) < 0.53):
            rows.append(_perp(asset, f"{raw}USDT", raw, units, "USDT", 0.3))
        if asset.rank < 54 and asset.name not in PREFIX:
            rows.append(_perp(asset, f"{asset.name}PERP", asset.name, 1.0, "USDC", 0.008))
        if asset.name in COIN_MARGINED:
            rows.append(_perp(asset, f"{asset.name}USD", asset.name, 1.0, "USD", 0.01, inverse=True))
        for quote, (last_rank, kept, share) in SPOT_QUOTES.items():
            wanted = asset.rank < 100 or fraction("bitget spot", asset.name) < kept
            if asset.rank < last_rank and wanted and asset.name != quote and asset.price / assets()[quote].price > 1e-9:
                rows.append(_spot(asset, quote, share))
    rows += [_perp(asset, f"{asset.name}USDT", asset.name, 1.0, "USDT", 0.2)
             for asset in assets().values() if asset.kind == "stock" and asset.category == "stocks"]  # fmt: skip
    rows.append(_spot(assets()["USDC"], "USDT", 0.0))
    return rows + _dated()
