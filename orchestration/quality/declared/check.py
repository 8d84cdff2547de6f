"""What a check is made of, the limits that several of them know, and expectations that they share."""

from dataclasses import dataclass
from typing import Literal

Period = Literal["hourly", "daily"]
PERIODS: tuple[Period, ...] = ("hourly", "daily")

# Hyperliquid caps funding at 4 % an hour, which is the widest cap that a venue documents.
FUNDING_CAP_8H = 0.32
# A venue's fair price is near the others'. Markets that hardly trade show a price of long ago.
LIQUID_USD, PRICE_BAND, PRICE_BAND_ILLIQUID = 100_000, 0.10, 0.50
# Below it a venue's last digit is more than the band.
LEAST_PRICE = 1e-7
FUNDING_BAND_8H = 0.03
# Open interest does not grow fivefold in minutes, and is not hundreds of days of turnover: that is a unit gone wrong.
OI_JUMP, OI_TURNOVERS, OI_SHARE = 5, 500, 20
STALE_MS, MISSING_MS, FROZEN_MINUTES = 300_000, 600_000, 30
# Single delistings are no fault: a venue may lose so many markets a day.
LOST, LOST_SHARE = 2, 0.02


@dataclass(frozen=True)
class Between:
    """The column's values lie in a range; unknown ones are left out."""

    column: str
    low: float | None = None
    high: float | None = None
    above: bool = False  # the low end itself is out

    @property
    def expected(self) -> str:
        ends = [f"{'>' if self.above else '>='} {self.low:g}"] if self.low is not None else []
        return " and ".join([*ends, *([f"<= {self.high:g}"] if self.high is not None else [])])


@dataclass(frozen=True)
class NotBefore:
    """One time is not before another one in the same row."""

    column: str
    earlier: str

    @property
    def expected(self) -> str:
        return f"not before {self.earlier}"


@dataclass(frozen=True)
class Rows:
    """Rows that SQL finds and that should not be there."""

    says: str
    sql: str


Expected = Between | NotBefore | Rows


@dataclass(frozen=True)
class Check:
    """One asset check: `asset` is Dagster's key of what is checked, `table` where its facts are."""

    name: str
    asset: tuple[str, ...]
    table: str
    period: Period
    says: str
    expects: tuple[Expected, ...]
    blocking: bool = True  # an error; else a warning


LANDING, MINUTES, HOURS = ("landing", "responses"), ("series_market_1m",), ("series_market_1h",)
INDEX = ("market_index",)


def ranges() -> tuple[Expected, ...]:
    """What holds for the figures of every series tier."""
    amounts = ("vol24h_usd", "volume_usd", "taker_buy_usd", "taker_sell_usd", "liq_long_usd", "liq_short_usd")
    return (
        Between("price", 0, above=True),
        Between("oi_usd", 0),
        Between("oi_base", 0),
        *(Between(column, 0) for column in amounts),
        Between("funding_8h", -FUNDING_CAP_8H, FUNDING_CAP_8H),
    )


def once(step_ms: int) -> Rows:
    """A market has one row a time."""
    # Not ExpectCompoundColumnsToBeUnique: its query for the rows that it means joins all with all (1.24.1).
    return Rows(
        "More than one row of a market and time",
        f"""
        select venue, market_id, t as from_ms, t + {step_ms} as to_ms, count(*) || ' rows' as value,
            'one row' as expected
        from {{batch}} as m join span on true
        group by venue, market_id, t having count(*) > 1
        """,
    )
