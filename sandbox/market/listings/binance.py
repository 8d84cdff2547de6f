"""The markets of Binance: USD-M (USDT, USDC) and COIN-M perpetuals, quarterly futures, and spot in eleven quotes."""

from sandbox.market.assets import Asset, assets
from sandbox.market.listing import Listing, coins, dates, intervals, lot_decimals, price_decimals, quarters, size
from sandbox.market.noise import fraction

PERP_PREFIX = {
    "PEPE": ("1000PEPE", 1e3), "SHIB": ("1000SHIB", 1e3), "BONK": ("1000BONK", 1e3), "FLOKI": ("1000FLOKI", 1e3),
    "LUNC": ("1000LUNC", 1e3), "XEC": ("1000XEC", 1e3), "SATS": ("1000SATS", 1e3), "RATS": ("1000RATS", 1e3),
    "CAT": ("1000CAT", 1e3), "CHEEMS": ("1000CHEEMS", 1e3), "WHY": ("1000WHY", 1e3), "MOG": ("1000000MOG", 1e6),
    "BOBBSC": ("1000000BOB", 1e6), "BABYDOGE": ("1MBABYDOGE", 1e6),
}  # fmt: skip
COIN_MARGINED = ("BTC", "ETH", "XRP", "SOL", "DOGE", "ADA", "LTC", "DOT", "LINK", "AVAX", "BNB")
SPOT_PREFIX = {name: PERP_PREFIX[name] for name in ("SATS", "CAT", "CHEEMS", "BABYDOGE")}
# quote: (coins down to this rank, share of the coin's perp volume)
SPOT_QUOTES = {
    "USDT": (470, 0.12), "USDC": (260, 0.02), "BTC": (290, 0.004), "TRY": (270, 0.004), "FDUSD": (70, 0.015),
    "BNB": (90, 0.001), "EUR": (60, 0.003), "ETH": (70, 0.002), "BRL": (30, 0.001), "JPY": (30, 0.001),
    "USD1": (12, 0.002),
}  # fmt: skip
STABLE_PAIRS = (("USDC", "USDT", 9e8), ("FDUSD", "USDT", 2e8), ("USD1", "USDT", 1e8), ("USDE", "USDT", 3e7),
                ("EUR", "USDT", 8e7), ("USDT", "TRY", 1e8), ("USDT", "BRL", 4e7))  # fmt: skip


def _listing(kind: str, asset: Asset, prefix: tuple[str, float], quote: str, share: float, digits: int) -> Listing:
    raw, units = prefix
    symbol = raw + quote
    identity = f"binance:{kind}:{symbol}"
    listed, delisted = dates(identity, asset.rank, 0.14 if kind == "perp" else 0.1)
    price = asset.price * units / assets()[quote].price
    steps: tuple[tuple[int, int], ...] = ()
    if kind == "perp":
        chosen = fraction("interval", identity)
        settled = 8 if asset.rank < 20 or chosen > 0.77 else 1 if chosen < 0.015 else 4
        steps = intervals(identity, listed, settled, 8)
    return Listing(
        "binance", kind, symbol, raw, quote, asset.name, quote, units, size(identity, asset, share), listed, delisted,
        price_decimals(price, digits, 8), lot_decimals(asset.price * units), steps,
    )  # fmt: skip


def _coin_margined(asset: Asset) -> Listing:
    symbol = f"{asset.name}USD_PERP"
    listed, delisted = dates(f"binance:perp:{symbol}", asset.rank, 0.0)
    return Listing(
        "binance", "perp", symbol, asset.name, "USD", asset.name, "USD", 1.0, size(symbol, asset, 0.06), listed,
        delisted, price_decimals(asset.price, 6, 8), lot_decimals(asset.price), ((0, 8),),
        contract_size=100.0 if asset.name == "BTC" else 10.0, inverse=True,
    )  # fmt: skip


def listings() -> list[Listing]:
    """All markets of Binance, past, present and to come."""
    rows: list[Listing] = []
    for asset in coins():
        prefix = PERP_PREFIX.get(asset.name, (asset.name, 1.0))
        if asset.rank < 140 or (asset.rank < 1150 and fraction("binance perp", asset.name) < 0.58):
            rows.append(_listing("perp", asset, prefix, "USDT", 1.0, 6))
        if asset.name in COIN_MARGINED:
            rows.append(_coin_margined(asset))
        if asset.rank < 45:
            rows.append(_listing("perp", asset, prefix, "USDC", 0.08, 6))
        spot = SPOT_PREFIX.get(asset.name, (asset.name, 1.0))
        for quote, (last_rank, share) in SPOT_QUOTES.items():
            if asset.rank >= last_rank or asset.name in ("HYPE", "MOG"):
                continue
            if assets()[quote].kind == "coin" and asset.rank <= assets()[quote].rank:
                continue
            if asset.price * spot[1] / assets()[quote].price > 2e-6:
                rows.append(_listing("spot", asset, spot, quote, share, 7))
    for base, quote, volume in STABLE_PAIRS:
        asset = assets()[base]
        row = _listing("spot", asset, (base, 1.0), quote, 0.0, 5)
        rows.append(
            Listing("binance", "spot", row.symbol, base, quote, base, quote, 1.0, volume, row.listed_ms,
                    row.delisted_ms, row.decimals, row.lot_decimals)
        )  # fmt: skip
    for name in ("BTC", "ETH"):
        asset = assets()[name]
        for listed, delivery in quarters():
            symbol = f"{name}USDT_{delivery:%y%m%d}"
            rows.append(
                Listing("binance", "future", symbol, name, "USDT", name, "USDT", 1.0,
                        size(symbol, asset, 0.01), int(listed.timestamp() * 1000), int(delivery.timestamp() * 1000),
                        price_decimals(asset.price, 6, 8), 3)
            )  # fmt: skip
    return rows
