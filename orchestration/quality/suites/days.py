"""Daily checks of the last two days."""

from orchestration.quality.suites.check import HOURS, LIQUID_USD, LOST, LOST_SHARE, Check, Rows, once, ranges

DAY_CHECKS = (
    Check(
        "recorded_values_agree_with_the_venue_s_history", HOURS, "accuracy", "daily",
        "What was recorded agrees with what the venue publishes of the same time later (see the model `accuracy`).",
        (Rows(
            "Venues whose recorded values differ from their own history",
            """
            select venue, null::varchar as market_id, t as from_ms, t + 86400000 as to_ms,
                metric || printf(': half differ by more than %.3g %%, most ', 100 * median_difference)
                    || worst_market_id as value,
                printf('at most %.3g %%', 100 * allowed_difference) as expected
            from {batch}
            where median_difference > allowed_difference
            """,
        ),),
    ),
    Check(
        "names_mean_one_coin", HOURS, "market_register", "daily",
        "A market's price agrees with the coin that its name says; where it does not, the market is a coin of its own "
        "until a row of the seed `symbols` says what it is.",
        (Rows(
            "Markets that are another coin than their name says",
            """
            select venue, market_id, identity[-1].from_ms as from_ms, s.to_ms,
                base || printf(' (%s, %.4g times the price)', identity[-1].reason, identity[-1].price_ratio) as value,
                named_base as expected
            from {batch} join span as s on true
            where base <> named_base
            """,
        ),),
        blocking=False,
    ),
    Check(
        "hours_in_range", HOURS, "hours", "daily",
        "Prices are above zero, open interest, turnover and liquidations not below it, funding within venues' caps.",
        ranges(),
    ),
    Check(
        "hours_go_forward_in_time", HOURS, "hours", "daily",
        "Every market has one row an hour, on the hour, and none of the future.",
        (
            once(3_600_000),
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
        "Where nearly all minutes of a day have bars, their volume is the venue's 24 hour turnover, to a factor of 3.",
        (Rows(
            "Volumes that do not add up to the turnover of 24 hours",
            """
            select m.venue, market_id, m.from_ms, m.to_ms, volume_usd::varchar as value,
                printf('near %.8g', vol24h_usd) as expected
            from {batch} as m join span on true
            where bar_minutes >= 1400 and vol24h_usd >= 1e6
                and (volume_usd > 3 * vol24h_usd or volume_usd < vol24h_usd / 3)
            """,
        ),),
        blocking=False,
    ),
)  # fmt: skip
