"""Hourly checks of the landing: coverage, time order, freshness."""

from orchestration.quality.suites.check import LANDING, STALE_MS, Check, NotBefore, Rows

LANDING_CHECKS = (
    Check(
        "every_kind_is_answered_as_yesterday", LANDING, "responses", "hourly",
        "Every endpoint that succeeded at this hour yesterday (on the first day: earlier) still succeeds.",
        (Rows(
            "Endpoints that succeeded before and fail now",
            """
            select b.venue, null::varchar as market_id, s.from_ms, s.to_ms,
                b.endpoint || ': ' || count(r.t) || ' requests, none answered' as value,
                'answered, as in ' || b.minutes || ' minutes of the period before' as expected
            from answered_before as b
            cross join span as s
            left join {batch} as r on b.venue = r.venue and b.endpoint = r.endpoint
            where b.minutes >= 5
            group by b.venue, b.endpoint, b.minutes, s.from_ms, s.to_ms
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
                "Requests that were sent before those of an earlier minute, or before their own minute",
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
        "every_body_is_built", LANDING, "quarantined_bodies", "hourly",
        "No response of the period is in quarantine: no model failed with what an exchange sent.",
        (Rows(
            "Responses that are set aside",
            """
            select venue, null::varchar as market_id, tick_ms as from_ms, tick_ms + 60000 as to_ms,
                trim(endpoint || ' ' || key) || ': ' || error as value, 'built' as expected
            from {batch}
            """,
        ),),
    ),
    Check(
        "every_venue_responds", LANDING, "responses", "hourly",
        "The newest response of every venue is at most five minutes old.",
        (Rows(
            "Venues whose newest response is too old",
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
