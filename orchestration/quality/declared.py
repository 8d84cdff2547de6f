"""What is expected of the landing and the marts, all of it: one `Check` is one asset check in Dagster.

A check is made of expectations on one table of facts (see `facts` for the tables and their columns). `Rows` is SQL that
returns what should not be there, as venue, market_id (null: the venue as a whole), from_ms, to_ms, value and expected.
These rows are what a failing check names and what it marks as suspect. `{batch}` is the check's table; `span` is the
period looked at: from_ms, to_ms, day_ms (a day before from_ms) and now_ms (the clock).
"""

from dataclasses import dataclass
from typing import Literal

Period = Literal["hourly", "daily"]
PERIODS: tuple[Period, ...] = ("hourly", "daily")

# Hyperliquid caps funding at 4 % an hour, which is the widest cap that a venue documents.
FUNDING_CAP_8H = 0.32
# A venue's fair price is near the others'. Markets that hardly trade show a price of long ago.
LIQUID_USD, PRICE_BAND, PRICE_BAND_ILLIQUID = 100_000, 0.10, 0.50
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


def _ranges() -> tuple[Expected, ...]:
    amounts = ("vol24h_usd", "volume_usd", "taker_buy_usd", "taker_sell_usd", "liq_long_usd", "liq_short_usd")
    return (
        Between("price", 0, above=True),
        Between("oi_usd", 0),
        Between("oi_base", 0),
        *(Between(column, 0) for column in amounts),
        Between("funding_8h", -FUNDING_CAP_8H, FUNDING_CAP_8H),
    )


def _once(step_ms: int) -> Rows:
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


LANDING_CHECKS = (
    Check(
        "every_kind_is_answered_as_yesterday", LANDING, "responses", "hourly",
        "What a venue answered at this hour yesterday (or before, in the first day) it still answers.",
        (Rows(
            "Kinds of data that were answered before and are not answered now",
            """
            select b.venue, null::varchar as market_id, s.from_ms, s.to_ms,
                b.endpoint || ': ' || count(r.t) || ' requests, none answered' as value,
                'answered, as in ' || b.ticks || ' minutes of the period before' as expected
            from answered_before as b
            cross join span as s
            left join {batch} as r on b.venue = r.venue and b.endpoint = r.endpoint
            where b.ticks >= 5
            group by b.venue, b.endpoint, b.ticks, s.from_ms, s.to_ms
            having count(*) filter (r.answered) = 0
            """,
        ),),
    ),
    Check(
        "responses_go_forward_in_time", LANDING, "responses", "hourly",
        "Responses follow their requests, and requests their minutes: the recorder's clock does not go back.",
        (
            NotBefore("received_ms", "requested_ms"),
            Rows(
                "Requests that were made before those of an earlier minute, or a minute before their own",
                """
                select venue, null::varchar as market_id, t as from_ms, t + 60000 as to_ms,
                    endpoint || ' ' || key || ': asked at ' || requested_ms as value,
                    'not before ' || greatest(coalesce(before, 0), t) as expected
                from (
                    select r.*, max(requested_ms) over (
                        partition by venue, endpoint, key order by t range between unbounded preceding and 1 preceding
                    ) as before
                    from {batch} as r join span on true
                )
                where requested_ms < before - 60000 or requested_ms < t - 60000
                """,
            ),
        ),
    ),
    Check(
        "every_venue_is_heard", LANDING, "responses", "hourly",
        "The newest answer of every venue is at most five minutes old.",
        (Rows(
            "Venues whose newest answer is too old",
            f"""
            select r.venue, null::varchar as market_id, max(r.received_ms) filter (answered) as from_ms,
                any_value(s.now_ms) as to_ms,
                (any_value(s.now_ms) - max(r.received_ms) filter (answered)) // 1000 || ' s old' as value,
                'at most {STALE_MS // 1000} s old' as expected
            from {{batch}} as r join span as s on true
            group by r.venue
            having max(r.received_ms) filter (answered) < any_value(s.now_ms) - {STALE_MS}
            """,
        ),),
    ),
)  # fmt: skip

MINUTE_CHECKS = (
    Check(
        "minutes_in_range", MINUTES, "minutes", "hourly",
        "Prices are above zero, open interest, turnover and liquidations not below it, funding within venues' caps.",
        _ranges(),
    ),
    Check(
        "minutes_go_forward_in_time", MINUTES, "minutes", "hourly",
        "Every market has one row a minute, on the minute, and none of the future.",
        (
            _once(60_000),
            Rows(
                "Rows that are not on a minute, or of the future",
                """
                select m.venue, m.market_id, m.t as from_ms, m.t + 60000 as to_ms, m.t::varchar as value,
                    'a whole minute, not after ' || s.now_ms as expected
                from {batch} as m join span as s on true
                where m.t % 60000 <> 0 or m.t > s.now_ms + 60000
                """,
            ),
        ),
    ),
    Check(
        "venues_agree_on_prices", MINUTES, "minutes", "hourly",
        f"A coin's price on a venue lies within {PRICE_BAND:.0%} of the median of all venues "
        f"({PRICE_BAND_ILLIQUID:.0%} for a market with a turnover below {LIQUID_USD:,} USD a day). Of two venues that "
        "disagree nobody knows which is right: both are named.",
        (Rows(
            "Prices outside the band around the median of the venues",
            f"""
            select m.venue, m.market_id, m.t as from_ms, m.t + 60000 as to_ms, m.price::varchar as value,
                printf('%.8g, the median of %d venues', c.price, c.venues) as expected
            from {{batch}} as m join coins as c on m.t = c.t and m.base = c.base
            where m.aggregated and m.price > 0 and c.venues > 1
                and abs(ln(m.price / c.price))
                    > ln(1 + if(m.vol24h_usd >= {LIQUID_USD}, {PRICE_BAND}, {PRICE_BAND_ILLIQUID}))
            """,
        ),),
    ),
    Check(
        "venues_agree_on_funding", MINUTES, "minutes", "hourly",
        f"Where three venues or more have funding for a coin, each lies within {FUNDING_BAND_8H:.0%} per 8 hours of "
        "their median: more is mostly a wrong interval.",
        (Rows(
            "Funding far from the median of the venues",
            f"""
            select m.venue, m.market_id, m.t as from_ms, m.t + 60000 as to_ms, m.funding_8h::varchar as value,
                printf('%.6f ± {FUNDING_BAND_8H}, the median of %d venues', c.funding_8h, c.funding_venues) as expected
            from {{batch}} as m join coins as c on m.t = c.t and m.base = c.base
            where m.aggregated and m.oi_usd >= {LIQUID_USD} and c.funding_venues > 2
                and abs(m.funding_8h - c.funding_8h) > {FUNDING_BAND_8H}
            """,
        ),),
        blocking=False,
    ),
    Check(
        "open_interest_is_plausible", MINUTES, "minutes", "hourly",
        "Open interest in USD is that in coins at the price, does not jump, is not the turnover of hundreds of days, "
        "and is not many times that of all other venues.",
        (
            Rows(
                "Open interest in USD that is not the coins at the price",
                f"""
                select m.venue, m.market_id, m.t as from_ms, m.t + 60000 as to_ms, m.oi_usd::varchar as value,
                    printf('%.8g coins at %.8g USD', m.oi_base, m.price) as expected
                from {{batch}} as m join span on true
                where m.oi_usd > 0 and m.oi_base > 0 and m.price > 0 and m.vol24h_usd >= {LIQUID_USD}
                    and abs(ln(m.oi_usd / (m.oi_base * m.price))) > ln(1.5)
                """,
            ),
            Rows(
                f"Open interest that changes {OI_JUMP}-fold within five minutes",
                f"""
                select venue, market_id, t as from_ms, t + 60000 as to_ms, oi_usd::varchar as value,
                    printf('near %.8g, as before', before) as expected
                from (
                    select m.*, last_value(if(oi_usd > 0, oi_usd, null) ignore nulls) over (
                        partition by market_id order by t range between {STALE_MS} preceding and 1 preceding) as before
                    from {{batch}} as m join span on true
                )
                where oi_usd > 0 and greatest(oi_usd, before) >= 1e6
                    and (oi_usd > {OI_JUMP} * before or oi_usd < before / {OI_JUMP})
                """,
            ),
            Rows(
                f"Open interest of over {OI_TURNOVERS} days' turnover, or {OI_SHARE} times that of all other venues",
                f"""
                select m.venue, m.market_id, m.t as from_ms, m.t + 60000 as to_ms, m.oi_usd::varchar as value,
                    printf('turnover %.8g USD a day, others %.8g', m.vol24h_usd, c.oi_usd - m.oi_usd) as expected
                from {{batch}} as m join coins as c on m.t = c.t and m.base = c.base
                where m.aggregated and m.oi_usd >= 1e7 and (
                    m.oi_usd > {OI_TURNOVERS} * m.vol24h_usd
                    or (c.oi_venues > 2 and m.oi_usd > {OI_SHARE} * (c.oi_usd - m.oi_usd)))
                """,
            ),
        ),
    ),
    Check(
        "markets_are_fresh", MINUTES, "minutes", "hourly",
        f"Every venue has rows of the last five minutes, and no traded market shows the same figures for "
        f"{FROZEN_MINUTES} minutes.",
        (
            Rows(
                "Venues whose newest row is too old",
                f"""
                select m.venue, null::varchar as market_id, max(m.t) + 60000 as from_ms, any_value(s.now_ms) as to_ms,
                    'newest row ' || (any_value(s.now_ms) - max(m.t)) // 1000 || ' s old' as value,
                    'at most {STALE_MS // 1000} s old' as expected
                from {{batch}} as m join span as s on true
                where coalesce(m.price, m.oi_usd, m.funding_8h) is not null
                group by m.venue
                having max(m.t) < any_value(s.now_ms) - {STALE_MS}
                """,
            ),
            Rows(
                "Traded markets whose figures do not move",
                f"""
                select venue, market_id, min(t) as from_ms, max(t) + 60000 as to_ms,
                    any_value(price) || ' for ' || count(*) || ' minutes' as value, 'figures that move' as expected
                from {{batch}} as m join span on true
                where price is not null and vol24h_usd is not null
                group by venue, market_id
                having count(*) >= {FROZEN_MINUTES} and max(vol24h_usd) >= 1e6
                    and min(price) = max(price) and min(vol24h_usd) = max(vol24h_usd)
                    and coalesce(min(oi_usd) = max(oi_usd), true)
                """,
            ),
        ),
    ),
)  # fmt: skip

INDEX_CHECKS = (
    Check(
        "markets_are_recorded_as_yesterday", INDEX, "markets", "hourly",
        f"The markets of the last day are still recorded; a venue may lose {LOST} of them or {LOST_SHARE:.0%} a day, "
        "because markets are delisted.",
        (
            NotBefore("last_ms", "first_ms"),
            Rows(
                "Venues that lost most of their markets",
                """
                select venue, null::varchar as market_id, max(last_ms) filter (lost) + 60000 as from_ms,
                    max(to_ms) as to_ms,
                    printf('%d of %d %s markets lost: %s', count(*) filter (lost), count(*), type,
                        array_to_string(list_slice(list(market_id order by market_id) filter (lost), 1, 5), ', ')
                    ) as value,
                    count(*) || ' markets, as in the last day' as expected
                from {batch} as m join span as s on m.last_ms >= s.day_ms
                group by venue, type
                having count(*) filter (lost) * 2 > count(*)
                """,
            ),
            Rows(
                "Markets that are no longer recorded, where a venue lost too many",
                f"""
                select venue, market_id, last_ms + 60000 as from_ms, to_ms,
                    'not recorded for ' || (to_ms - last_ms) // 60000 || ' minutes' as value, 'recorded' as expected
                from (
                    select m.*, s.to_ms, count(*) filter (lost) over same as n_lost, count(*) over same as n
                    from {{batch}} as m join span as s on m.last_ms >= s.day_ms
                    window same as (partition by venue, type)
                )
                where lost and n_lost > greatest({LOST}, {LOST_SHARE} * n) and n_lost * 2 <= n
                """,
            ),
        ),
    ),
)  # fmt: skip

DAY_CHECKS = (
    Check(
        "hours_in_range", HOURS, "hours", "daily",
        "Prices are above zero, open interest, turnover and liquidations not below it, funding within venues' caps.",
        _ranges(),
    ),
    Check(
        "hours_go_forward_in_time", HOURS, "hours", "daily",
        "Every market has one row an hour, on the hour, and none of the future.",
        (
            _once(3_600_000),
            Rows(
                "Rows that are not on an hour, or of the future",
                """
                select m.venue, m.market_id, m.t as from_ms, m.t + 3600000 as to_ms, m.t::varchar as value,
                    'a whole hour, at most ' || s.now_ms as expected
                from {batch} as m join span as s on true
                where m.t % 3600000 <> 0 or m.t > s.now_ms
                """,
            ),
        ),
    ),
    Check(
        "markets_have_the_hours_of_the_day_before", HOURS, "days", "daily",
        "A market has as many recorded hours as the day before, to a half; a venue may lose some markets.",
        (Rows(
            "Markets that lost more than half of their hours, where a venue has too many of them",
            f"""
            select venue, market_id, from_ms, to_ms, hours || ' hours' as value, hours_before || ' hours' as expected
            from (
                select m.*, count(*) filter (hours * 2 < hours_before) over same as n_lost, count(*) over same as n
                from {{batch}} as m join span on true
                window same as (partition by venue, type)
            )
            where hours * 2 < hours_before and n_lost > greatest({LOST}, {LOST_SHARE} * n)
            """,
        ),),
    ),
    Check(
        "days_follow_on_from_the_day_before", HOURS, "days", "daily",
        "From one day to the next no traded price changes 5-fold and no open interest 10-fold: that is mostly a "
        "redenomination or a contract size that is not known yet.",
        (
            Rows(
                "Prices that changed 5-fold",
                f"""
                select m.venue, market_id, m.from_ms, m.to_ms, price::varchar as value,
                    printf('near %.8g', price_before) as expected
                from {{batch}} as m join span on true
                where vol24h_usd >= {LIQUID_USD} and price > 0 and price_before > 0
                    and abs(ln(price / price_before)) > ln(5)
                """,
            ),
            Rows(
                "Open interest that changed 10-fold",
                """
                select m.venue, market_id, m.from_ms, m.to_ms, oi_usd::varchar as value,
                    printf('near %.8g', oi_before) as expected
                from {batch} as m join span on true
                where greatest(oi_usd, oi_before) >= 1e7 and oi_usd > 0 and oi_before > 0
                    and abs(ln(oi_usd / oi_before)) > ln(10)
                """,
            ),
        ),
        blocking=False,
    ),
    Check(
        "bars_add_up_to_the_turnover", HOURS, "days", "daily",
        "Where all hours of the day have bars, their volume is the venue's own 24 hour turnover within a factor of 3.",
        (Rows(
            "Volumes that do not add up to the turnover of 24 hours",
            """
            select m.venue, market_id, m.from_ms, m.to_ms, volume_usd::varchar as value,
                printf('near %.8g', vol24h_usd) as expected
            from {batch} as m join span on true
            where bar_hours = 24 and vol24h_usd >= 1e6 and (volume_usd > 3 * vol24h_usd or volume_usd < vol24h_usd / 3)
            """,
        ),),
        blocking=False,
    ),
)  # fmt: skip

CHECKS: tuple[Check, ...] = (*LANDING_CHECKS, *MINUTE_CHECKS, *INDEX_CHECKS, *DAY_CHECKS)


def checks_of(period: Period) -> tuple[Check, ...]:
    """The checks that run every hour, or every day."""
    return tuple(check for check in CHECKS if check.period == period)
