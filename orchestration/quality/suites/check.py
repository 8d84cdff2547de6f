"""What a check consists of, shared limits, and expectations that several checks use."""

from dataclasses import dataclass
from typing import Literal

Period = Literal["hourly", "daily"]
PERIODS: tuple[Period, ...] = ("hourly", "daily")

# Hyperliquid caps funding at 4 % an hour, which is the widest cap that a venue documents.
FUNDING_CAP_8H = 0.32
# A venue's fair price is near the others'. Markets that hardly trade show outdated prices.
LIQUID_USD, PRICE_BAND, PRICE_BAND_ILLIQUID = 100_000, 0.10, 0.50
# Below this price the last digit that a venue publishes is wider than the band.
LEAST_PRICE = 1e-7
FUNDING_BAND_8H = 0.03
# Open interest does not grow fivefold in minutes, and is not hundreds of days of volume: such values have a wrong unit.
OI_JUMP, OI_TURNOVERS, OI_SHARE = 5, 500, 20
STALE_MS, MISSING_MS, FROZEN_MINUTES = 300_000, 600_000, 30
# Single delistings are normal: a venue may lose this many markets a day.
LOST, LOST_SHARE = 2, 0.02


@dataclass(frozen=True)
class Between:
    """The column's values lie in a range; nulls are ignored."""

    column: str
    low: float | None = None
    high: float | None = None
    above: bool = False  # the lower bound itself is excluded

    @property
    def expected(self) -> str:
        ends = [f"{'>' if self.above else '>='} {self.low:g}"] if self.low is not None else []
        return " and ".join([*ends, *([f"<= {self.high:g}"] if self.high is not None else [])])


@dataclass(frozen=True)
class NotBefore:
    """One time of a row is not before another."""

    column: str
    earlier: str

    @property
    def expected(self) -> str:
        return f"not before {self.earlier}"


@dataclass(frozen=True)
class Rows:
    """A query for rows that should not exist."""

    says: str
    sql: str


Expected = Between | NotBefore | Rows


@dataclass(frozen=True)
class Check:
    """One asset check: `asset` is the Dagster key of the checked asset, `table` the table with its data."""

    name: str
    asset: tuple[str, ...]
    table: str
    period: Period
    says: str
    expects: tuple[Expected, ...]
    blocking: bool = True  # an error; otherwise a warning


LANDING, MINUTES, HOURS = ("landing", "responses"), ("series_market_1m",), ("series_market_1h",)
INDEX = ("market_index",)


def ranges() -> tuple[Expected, ...]:
    """The value ranges of every series tier."""
    amounts = ("vol24h_usd", "volume_usd", "taker_buy_usd", "taker_sell_usd", "liq_long_usd", "liq_short_usd")
    return (
        Between("price", 0, above=True),
        Between("oi_usd", 0),
        Between("oi_base", 0),
        *(Between(column, 0) for column in amounts),
        Between("funding_8h", -FUNDING_CAP_8H, FUNDING_CAP_8H),
    )


def once(step_ms: int) -> Rows:
    """A market has one row per time."""
    # Not ExpectCompoundColumnsToBeUnique: its query for unexpected rows is a cross join (1.24.1).
    return Rows(
        "More than one row of a market and time",
        f"""
        select venue, market_id, t as from_ms, t + {step_ms} as to_ms, count(*) || ' rows' as value,
            'one row' as expected
        from {{batch}} as m join span on true
        group by venue, market_id, t having count(*) > 1
        """,
    )
