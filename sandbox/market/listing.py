"""What a market is, and the rules by which the venues' listings get dates, sizes and prices."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil, log10

from sandbox.market.assets import Asset, assets
from sandbox.market.noise import fraction

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
ANCHOR_MS = int(
    datetime(2026, 11, 1, tzinfo=UTC).timestamp() * 1000
)  # the simulated volumes are those of the real venues at this time
FIRST_MS = int(datetime(2019, 9, 8, tzinfo=UTC).timestamp() * 1000)
NEVER_MS = 4_133_404_800_000  # the year 2100: no end


@dataclass(frozen=True, slots=True)
class Listing:
    """One market of one venue over its whole life; prices are per raw base unit (1000PEPE: per 1000 coins)."""

    venue: str
    type: str  # perp, spot or future
    symbol: str
    base_raw: str
    quote: str
    coin: str  # asset behind the base
    quote_asset: str
    units: float  # coins per raw base unit
    volume_usd: float
    listed_ms: int
    delisted_ms: int
    decimals: int
    lot_decimals: int  # negative where a lot is tens or thousands of raw base units
    intervals: tuple[tuple[int, int], ...] = ()  # (from ms, hours), oldest first; perps only
    group: str = ""  # a dex of its own, or another property of the venue's; the small universe has few such markets
    index: int = 0  # position or token index where the venue has one
    contract_size: float = 1.0  # raw base units of one contract, USD if inverse; for venues that count contracts
    inverse: bool = False  # margined and settled in the coin

    @property
    def id(self) -> str:
        return f"{self.venue}:{self.type}:{self.symbol}"


def coins() -> list[Asset]:
    """The coins in order of rank."""
    return [asset for asset in assets().values() if asset.kind == "coin"]


def dates(identity: str, rank: int, delisted_share: float = 0.14) -> tuple[int, int]:
    """Listing and delisting time, on the hour: long ago for the largest coins, in the future for some."""
    oldest, youngest = (2600, 1500) if rank < 15 else (2400, 300) if rank < 60 else (1960, 60)
    age = youngest + (oldest - youngest) * fraction("age", identity) ** 1.4
    if rank >= 15 and fraction("future", identity) < 0.05:
        age = -700 * fraction("when", identity)
    listed = ANCHOR_MS - int(age * 24) * HOUR_MS
    listed = max(listed, FIRST_MS + int(fraction("first", identity) * 700) * HOUR_MS)
    if rank < 15 or fraction("dies", identity) >= delisted_share:
        return listed, NEVER_MS
    return listed, listed + (120 * 24 + int(fraction("life", identity) * 1400 * 24)) * HOUR_MS


def price_decimals(price: float, digits: int, most: int) -> int:
    """Decimals that show a price with about `digits` significant digits."""
    return min(most, max(0, digits - ceil(log10(price))))


def lot_decimals(price_usd: float) -> int:
    """Decimals of a size whose step is worth about ten cents; never negative."""
    return min(8, max(0, ceil(log10(price_usd)) + 1))


def intervals(
    identity: str, listed_ms: int, settled: int, before: int, changed_share: float = 0.25
) -> tuple[tuple[int, int], ...]:
    """The funding intervals of a market's life: some markets change theirs once, some for two days only."""
    life: list[tuple[int, int]] = [(0, settled)]
    if settled != before and fraction("changes", identity) < changed_share:
        change = listed_ms + int((20 + 1200 * fraction("change", identity)) * 3) * 8 * HOUR_MS
        life = [(0, before), (change, settled)]
    if fraction("haste", identity) < 0.04:
        start = listed_ms + int((1300 + 900 * fraction("hasty", identity)) * 3) * 8 * HOUR_MS
        life += [(start, 1), (start + 48 * HOUR_MS, settled)]
    return tuple(life)


def size(identity: str, asset: Asset, share: float) -> float:
    """USD a day on one market: the asset's volume times the venue's share, with a random factor."""
    return max(2_000.0, asset.volume_usd * share * (0.6 + 0.8 * fraction("size", identity)))


def quarters() -> list[tuple[datetime, datetime]]:
    """(listing, delivery) of the quarterly futures: last Friday 08:00 UTC, listed two quarters ahead."""
    ends = []
    for year in range(2020, 2032):
        for month in (3, 6, 9, 12):
            last = datetime(year + month // 12, month % 12 + 1, 1, 8, tzinfo=UTC) - timedelta(days=1)
            ends.append(last - timedelta(days=(last.weekday() - 4) % 7))
    return list(zip(ends, ends[2:], strict=False))
