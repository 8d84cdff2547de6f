"""The markets of Bybit: linear perpetuals (USDT, USDC), inverse perpetuals, dated linear futures, and spot."""

from sandbox.market.assets import Asset, assets
from sandbox.market.listing import Listing, coins, dates, intervals, lot_decimals, price_decimals, quarters, size
from sandbox.market.noise import fraction

FUNDING_CAP = 0.00375  # per interval, of most perpetuals, as in recorded responses

PREFIX = {
    "PEPE": ("1000PEPE", 1e3), "SHIB": ("SHIB1000", 1e3), "BONK": ("1000BONK", 1e3), "FLOKI": ("1000FLOKI", 1e3),
    "LUNC": ("1000LUNC", 1e3), "XEC": ("1000XEC", 1e3), "SATS": ("10000SATS", 1e4), "RATS": ("1000RATS", 1e3),
    "CAT": ("1000CAT", 1e3), "CHEEMS": ("1000CHEEMS", 1e3), "WHY": ("10000WHY", 1e4), "MOG": ("1000000MOG", 1e6),
    "BABYDOGE": ("1000000BABYDOGE", 1e6), "ELON": ("10000ELON", 1e4), "LADYS": ("10000LADYS", 1e4),
    "TURBO": ("1000TURBO", 1e3), "BTT": ("1000BTT", 1e3), "BOBBSC": ("1000000BOB", 1e6),
}  # fmt: skip
COIN_MARGINED = ("BTC", "ETH", "XRP", "SOL", "DOGE", "ADA", "LTC", "DOT", "AVAX")
SPOT_QUOTES = {"USDT": (540, 0.05), "USDC": (80, 0.01), "EUR": (18, 0.002), "BTC": (14, 0.001), "BRL": (8, 0.0005)}


def _listing(kind: str, asset: Asset, symbol: str, raw: str, units: float, quote: str, share: float) -> Listing:
    identity = f"bybit:{kind}:{symbol}"
    listed, delisted = dates(identity, asset.rank, 0.14 if kind == "perp" else 0.1)
    price = asset.price * units / assets()[quote].price
    steps: tuple[tuple[int, int], ...] = ()
    if kind == "perp":
        chosen = fraction("interval", identity)
        settled = 8 if asset.rank < 20 or chosen > 0.45 else 1 if chosen < 0.03 else 4
        steps = intervals(identity, listed, settled, 8)
    return Listing(
        "bybit", kind, symbol, raw, quote, asset.name, quote, units, size(identity, asset, share), listed, delisted,
        price_decimals(price, 6, 10), lot_decimals(asset.price * units), steps, inverse=quote == "USD",
    )  # fmt: skip


def listings() -> list[Listing]:
    """All markets of Bybit, past, present and to come."""
    rows: list[Listing] = []
    for asset in coins():
        raw, units = PREFIX.get(asset.name, (asset.name, 1.0))
        if asset.rank < 140 or (asset.rank < 1300 and fraction("bybit perp", asset.name) < 0.61):
            rows.append(_listing("perp", asset, f"{raw}USDT", raw, units, "USDT", 0.45))
        if asset.rank < 70 and asset.name not in PREFIX:
            rows.append(_listing("perp", asset, f"{asset.name}PERP", asset.name, 1.0, "USDC", 0.01))
        if asset.name in COIN_MARGINED:
            rows.append(_listing("perp", asset, f"{asset.name}USD", asset.name, 1.0, "USD", 0.1))
        for quote, (last_rank, share) in SPOT_QUOTES.items():
            if asset.rank < last_rank and asset.name != quote and asset.price / assets()[quote].price > 1e-7:
                rows.append(_listing("spot", asset, asset.name + quote, asset.name, 1.0, quote, share))
    rows.append(_listing("spot", assets()["USDC"], "USDCUSDT", "USDC", 1.0, "USDT", 0.0))
    for name in ("BTC", "ETH"):
        asset = assets()[name]
        for listed, delivery in quarters():
            day = f"{delivery:%d%b%y}".upper()
            for symbol, quote in ((f"{name}USDT-{day}", "USDT"), (f"{name}-{day}", "USDC")):
                rows.append(
                    Listing("bybit", "future", symbol, name, quote, name, quote, 1.0, size(symbol, asset, 0.002),
                            int(listed.timestamp() * 1000), int(delivery.timestamp() * 1000),
                            price_decimals(asset.price, 6, 8), 3)
                )  # fmt: skip
    return rows
