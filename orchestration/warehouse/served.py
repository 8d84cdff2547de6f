"""What a replica holds: the tiers of the series, the families of their tables, and the tables beside them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

MINUTE_MS, HOUR_MS, DAY_MS, WEEK_MS = 60_000, 3_600_000, 86_400_000, 604_800_000
# The epoch was a Thursday; weeks begin on Mondays.
MONDAY_MS = 4 * DAY_MS
SMALL_TABLES = (
    "gaps", "markets", "liquidations", "long_short", "oi_acceleration", "market_movers", "recording_status",
    "market_index", "suspect_rows",
    "order_book_depth", "venue_totals", "listings", "funding_percentiles", "funding_persistence",
    "option_expiries", "option_coins", "xray_index", "heatmap_verdicts",
)  # fmt: skip


class History(NamedTuple):
    """A table that only grows, too long to be copied whole. Each row's `tick_ms` is a tick of the build that wrote it.

    key: columns of which a row written anew replaces all that have the same
    keep_days: how many days are served (None: all); `time`: the column that says a row's
    read_by: columns of the key whose values are asked for one by one over years; their rows are brought together
    """

    key: str
    keep_days: int | None = None
    time: str = "t"
    read_by: str | None = None


HISTORIES: Mapping[str, History] = {
    "premiums": History("exchange, base, t", read_by="exchange, base"),
    "wallet_liquidations": History("venue, symbol, t, tid", 8),
    "liquidation_events": History("tick_ms", 2, "ts"),
    "spikes": History("id"),
    "spike_outcomes": History("id, horizon_min"),
    "spike_stats": History("lookback, base"),
    "altcoin_season": History("t, version"),
    "altcoin_season_coins": History("t, version", 8),
    "fear_greed": History("t, formula_version"),
    "xray_risk": History("t, market_id, band_pct", 14),
    "liquidation_map_scores": History("frozen_ms, horizon_h, market_id", 92, "frozen_ms"),
}


@dataclass(frozen=True)
class Tier:
    """A rollup step: its width, the periods it is clustered in, and how many days of it are served (None: all).

    A step that is not stored is computed when it is read, by the warehouse's views. `compacted` names the longer period
    into which clustered periods are compacted.
    """

    step: str
    step_ms: int
    period: str
    keep_days: int | None
    stored: bool = True
    compacted: str | None = None

    def period_of(self, t: int) -> tuple[int, int]:
        """Start and end of the clustered period that holds this time."""
        return _period(self.period, t)

    def compacted_of(self, t: int) -> tuple[int, int]:
        """Start and end of the longest period whose rows lie together."""
        return _period(self.compacted or self.period, t)

    def kept_from(self, as_of_ms: int) -> int:
        """The start of the oldest period that is served whole."""
        return 0 if self.keep_days is None else self.compacted_of(as_of_ms - self.keep_days * DAY_MS)[0]


def _period(name: str, t: int) -> tuple[int, int]:
    match name:
        case "hour":
            start = t - t % HOUR_MS
            return start, start + HOUR_MS
        case "day":
            start = t - t % DAY_MS
            return start, start + DAY_MS
        case "week":
            start = t - (t - MONDAY_MS) % WEEK_MS
            return start, start + WEEK_MS
    month = datetime.fromtimestamp(t / 1000, UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    following = (month + timedelta(days=32)).replace(day=1)
    return int(month.timestamp() * 1000), int(following.timestamp() * 1000)


TIERS = (
    # A day of minutes is what most requests ask for: read from 24 hours it costs four times as much as from one day.
    Tier("1m", MINUTE_MS, "hour", 7, compacted="day"),
    Tier("5m", 5 * MINUTE_MS, "day", 30),
    Tier("15m", 15 * MINUTE_MS, "day", 30),
    Tier("1h", HOUR_MS, "week", None),
    Tier("4h", 4 * HOUR_MS, "month", None),
    Tier("1d", DAY_MS, "month", None),
    Tier("3d", 3 * DAY_MS, "month", None, stored=False),
)


@dataclass(frozen=True)
class Subject:
    """A family of tables `<name>_<step>`, one for each tier from `finest` up.

    key: the column that names late rows, which the temporary table `late` holds (None: there are none)
    order: of the rows of a clustered period
    steps: the tiers that are stored (None: all that are); the others are computed when they are read
    """

    name: str
    key: str
    order: str
    late: str | None = "late_rows"
    finest: str = "1m"
    steps: tuple[str, ...] | None = None

    def stores(self, tier: Tier) -> bool:
        return tier.stored and (self.steps is None or tier.step in self.steps)


BY_MARKET = "base, market_id, t"
SUBJECTS = (
    Subject("series_market", "market_id", BY_MARKET),
    # By the coin's number, so that who asks by it reads no names.
    Subject("series_base", "base", "base_key, base, type, t"),
    Subject("series_ratios", "market_id", BY_MARKET, late="late_ratios", finest="5m", steps=("5m", "1h", "1d")),
    Subject("series_depth", "market_id", BY_MARKET, late=None, finest="5m", steps=("5m", "1h")),
)
# What is computed from all that when it is read: table name prefix → its finest step, in an order in which each finds
# what it reads.
VIEWS: Mapping[str, str] = {"series_venue": "1m", "series_venue_ratios": "5m"}


def series_tables(tiers: Iterable[Tier]) -> list[str]:
    return [f"{subject.name}_{tier.step}" for tier, subject in stored(tiers)]


def series_views(tiers: Sequence[Tier]) -> list[str]:
    """What is computed from the stored tiers when it is read, in an order in which each finds what it reads."""
    widths = {tier.step: tier.step_ms for tier in tiers}
    computed = [
        f"{subject.name}_{tier.step}"
        for tier in tiers
        for subject in SUBJECTS
        if not subject.stores(tier) and tier.step_ms >= widths.get(subject.finest, 0)
    ]
    views = [
        f"{name}_{tier.step}" for name, finest in VIEWS.items() for tier in tiers if tier.step_ms >= widths[finest]
    ]
    return [*computed, *views]


def stored(tiers: Iterable[Tier]) -> list[tuple[Tier, Subject]]:
    """The tables of the tiers, the finer before the coarser."""
    return [(tier, subject) for tier in tiers for subject in SUBJECTS if subject.stores(tier)]
