"""Hourly checks of the newest minutes and of the list of markets."""

from orchestration.quality.suites.check import (
    FROZEN_MINUTES,
    FUNDING_BAND_8H,
    INDEX,
    LEAST_PRICE,
    LIQUID_USD,
    LOST,
    LOST_SHARE,
    MINUTES,
    OI_JUMP,
    OI_SHARE,
    OI_TURNOVERS,
    PRICE_BAND,
    PRICE_BAND_ILLIQUID,
    STALE_MS,
    Check,
    NotBefore,
    Rows,
    once,
    ranges,
)

MINUTE_CHECKS = (
    Check(
        "minutes_in_range", MINUTES, "minutes", "hourly",
        "Prices are above zero, open interest, turnover and liquidations not below it, funding within venues' caps.",
        ranges(),
    ),
    Check(
        "minutes_go_forward_in_time", MINUTES, "minutes", "hourly",
        "Every market has one row a minute, on the minute, and none of the future.",
        (
            once(60_000),
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
            where m.aggregated and m.price > 0 and c.venues > 1 and c.price >= {LEAST_PRICE}
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
    Check(
        "venues_report_their_markets", MINUTES, "market_losses", "hourly",
        "No venue stops reporting prices, open interest or funding of over a tenth of its markets from one minute to "
        "the next, unless its list confirms that they are gone.",
        (Rows(
            "Losses of markets that the venue still lists",
            """
            select m.venue, null::varchar as market_id, greatest(m.start_ms, s.from_ms) as from_ms,
                coalesce(m.end_ms, s.to_ms) as to_ms,
                printf('%d of %d %s markets without %s%s', m.lost, m.markets, m.type, m.family,
                    coalesce(', now ' || array_to_string(m.examples, ', '), '')) as value,
                m.markets || ' markets, as in the minute before' as expected
            from {batch} as m join span as s on true
            """,
        ),),
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
