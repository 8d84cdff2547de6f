"""The assets of the simulated world: about 2,000 coins, the stocks, and fiat and stable quotes."""

from dataclasses import dataclass
from functools import cache
from itertools import product

from sandbox.market.noise import fraction

STABLES = ("USDT", "USDC", "FDUSD", "USD", "USDE", "USDH", "USDT0", "USD1", "USDG", "PYUSD", "DAI")
FIAT = {"EUR": 1.08, "TRY": 0.0238, "BRL": 0.18, "JPY": 0.0066, "KRW": 0.00069, "GBP": 1.27, "AUD": 0.65, "SGD": 0.74,
        "AED": 0.2723}  # fmt: skip
COINS_FULL, COINS_SMALL = 2000, 40

# name:price:millions of USD traded a day on the largest perp:category. The order is the rank; 40 are `small`.
_NAMED = """BTC:95000:18000:PoW ETH:3200:14000:Layer-1 SOL:150:4000:Layer-1 XRP:2.2:2500:Payment BNB:900:900:Layer-1
DOGE:0.16:1600:Meme HYPE:35:900:DeFi SUI:1.8:800:Layer-1 ADA:0.55:600:Layer-1 LINK:14:500:Infrastructure
AVAX:15:450:Layer-1 PEPE:0.000006:700:Meme ZEC:400:600:PoW LTC:95:400:PoW BCH:500:350:PoW TRX:0.28:200:Layer-1
UNI:6.5:250:DeFi NEAR:2.2:250:AI AAVE:180:300:DeFi ENA:0.3:400:DeFi WIF:0.4:250:Meme SHIB:0.000009:200:Meme
BONK:0.000011:220:Meme DOT:2.6:180:Layer-1 ARB:0.25:150:Layer-2 OP:0.4:120:Layer-2 APT:2.8:150:Layer-1
TON:1.8:120:Layer-1 FIL:1.8:120:Storage ETC:14:90:PoW TAO:300:250:AI WLD:0.7:200:AI TRUMP:6:150:Meme
FARTCOIN:0.3:250:Meme PUMP:0.003:200:Meme ONDO:0.5:130:RWA CRV:0.4:120:DeFi FLOKI:0.00005:70:Meme
MOG:0.0000004:30:Meme JUP:0.25:90:DeFi INJ:6:90:DeFi FET:0.25:110:AI RENDER:2:80:AI XLM:0.25:110:Payment
HBAR:0.14:120:Layer-1 ICP:4:90:Infrastructure ATOM:2.8:70:Layer-1 SEI:0.15:90:Layer-1 TIA:0.7:90:Layer-1
LDO:0.7:80:DeFi STX:0.4:50:Layer-2 IMX:0.3:40:Layer-2 GALA:0.008:50:Gaming SAND:0.15:40:Metaverse
MANA:0.16:35:Metaverse AXS:1.0:40:Gaming APE:0.25:40:NFT DYDX:0.2:40:DeFi GMX:9:20:DeFi SNX:0.6:30:DeFi
COMP:30:25:DeFi MKR:1500:30:DeFi RUNE:0.7:30:DeFi KAS:0.05:50:PoW ALGO:0.14:50:Layer-1 VET:0.013:30:Infrastructure
THETA:0.35:20:Infrastructure EOS:0.4:30:Layer-1 XTZ:0.5:20:Layer-1 NEO:4:20:Layer-1 XMR:380:60:Privacy
DASH:55:60:Payment QTUM:1.5:15:Layer-1 ZRX:0.15:10:DeFi BAT:0.2:10:Infrastructure ENJ:0.035:10:Gaming
LUNC:0.00004:20:Layer-1 XEC:0.000012:8:PoW SATS:0.00000002:15:Meme RATS:0.00002:12:Meme CAT:0.000006:8:Meme
CHEEMS:0.000001:8:Meme BABYDOGE:0.0000000008:10:Meme WHY:0.00000003:4:Meme BOBBSC:0.00000002:3:Meme
ELON:0.0000001:2:Meme LADYS:0.00000001:2:Meme TURBO:0.002:20:Meme BTT:0.0000005:3:Storage DOGS:0.00005:10:Meme
NEIRO:0.0001:30:Meme NOT:0.0006:20:Meme PENGU:0.012:120:Meme VIRTUAL:0.9:120:AI POPCAT:0.12:30:Meme
MOODENG:0.06:30:Meme PNUT:0.08:60:Meme GOAT:0.04:20:Meme EIGEN:0.5:50:Infrastructure PENDLE:2.2:40:DeFi
STRK:0.1:30:Layer-2 ZK:0.04:30:Layer-2 ZRO:1.4:30:Infrastructure JTO:0.45:20:DeFi PYTH:0.08:30:Infrastructure
W:0.04:20:Infrastructure ORDI:4.5:60:Meme BLUR:0.03:15:NFT MEME:0.0015:10:Meme ETHFI:0.9:40:DeFi
IP:3.5:60:Infrastructure KAITO:0.7:40:AI BERA:0.8:30:Layer-1 S:0.1:30:Layer-1 LAYER:0.2:15:Layer-1
MORPHO:1.4:20:DeFi SYRUP:0.3:20:RWA ASTER:1.1:400:DeFi XPL:0.2:200:Layer-1 WLFI:0.14:200:DeFi
LINEA:0.01:30:Layer-2 AVNT:0.4:30:DeFi 0G:1.0:40:AI 2Z:0.12:20:Infrastructure PURR:0.15:2:Meme"""
_SYLLABLES = ("BA", "CO", "DI", "FU", "GE", "HO", "KA", "LU", "MI", "NO", "PA", "RI", "SO", "TU", "VE", "ZA")
_STOCKS = """XYZ100:24600:500:indices TSLA:400:25:stocks NVDA:185:45:stocks GOLD:4100:60:commodities AAPL:270:8:stocks
MSFT:500:8:stocks GOOGL:290:12:stocks AMZN:230:8:stocks META:620:9:stocks COIN:280:12:stocks HOOD:120:9:stocks
PLTR:180:15:stocks INTC:38:6:stocks ORCL:220:7:stocks CRCL:80:6:stocks SILVER:52:40:commodities COPPER:5:4:commodities
OIL:60:9:commodities EURUSD:1.15:3:fx USDJPY:155:2:fx"""


@dataclass(frozen=True, slots=True)
class Asset:
    """One asset with its USD price at the anchor and the USD traded a day on its largest market."""

    name: str
    kind: str  # coin, stock, fiat or stable
    rank: int
    price: float
    volume_usd: float
    category: str
    beta: float
    daily_vol: float


def _parsed(text: str, kind: str) -> list[Asset]:
    rows = []
    for rank, entry in enumerate(text.split()):
        name, price, volume, category = entry.split(":")
        tame = 0.012 if kind == "stock" else 0.02 + 0.03 * fraction("vol", name) * min(1.0, (rank + 1) / 20)
        beta = 0.0 if kind == "stock" else 1.0 if rank == 0 else 0.9 + 0.6 * fraction("beta", name)
        own = 0.004 if name == "BTC" else tame
        rows.append(Asset(name, kind, rank, float(price), float(volume) * 1e6, category, beta, own))
    return rows


def _invented(known: set[str]) -> list[Asset]:
    """Coins beyond the named ones: pronounceable tickers whose volume falls with the rank."""
    rows = []
    tickers = ("".join(parts) for parts in product(_SYLLABLES, _SYLLABLES, ("X", "N", "R", "T", "K", "S", "", "Q")))
    for name in tickers:
        rank = len(known)
        if rank >= COINS_FULL:
            break
        if name in known:
            continue
        known.add(name)
        price = 10.0 ** (3.6 * fraction("price", name) - 2.6)
        volume = 45e6 * (140.0 / (rank + 20)) ** 1.6 * (0.4 + 1.4 * fraction("volume", name))
        category = ("DeFi", "AI", "Gaming", "Meme", "Layer-2", "Infrastructure")[rank % 6]
        vol = 0.03 + 0.03 * fraction("vol", name)
        rows.append(Asset(name, "coin", rank, price, volume, category, 0.8 + 0.8 * fraction("beta", name), vol))
    return rows


@cache
def assets() -> dict[str, Asset]:
    """All assets by name; coins first, in order of rank."""
    named = _parsed(_NAMED, "coin")
    coins = named + _invented({asset.name for asset in named})
    extra = _parsed(_STOCKS, "stock")
    extra += [Asset(name, "fiat", 0, price, 0.0, "fx", 0.0, 0.005) for name, price in FIAT.items()]
    extra += [Asset(name, "stable", 0, 1.0, 0.0, "stable", 0.0, 0.0) for name in STABLES]
    return {asset.name: asset for asset in coins + extra}
