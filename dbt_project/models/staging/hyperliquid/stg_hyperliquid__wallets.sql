{%- set fields = {
    "account_value_usd": balance("r.accountvalue"),
    "volume_day_usd": balance("performance['day'] ->> '$.vlm'"),
    "volume_week_usd": balance("performance['week'] ->> '$.vlm'"),
    "volume_month_usd": balance("performance['month'] ->> '$.vlm'"),
    "pnl_month_usd": balance("performance['month'] ->> '$.pnl'"),
} %}
with recorded as (
    {{ recorded('hyperliquid', 'leaderboard', "from_json(body -> '$.leaderboardRows',
        '[{\"ethAddress\":\"VARCHAR\",\"accountValue\":\"VARCHAR\",\"displayName\":\"VARCHAR\",
           \"windowPerformances\":\"JSON\"}]')") }}
),

windows as (
    select
        *,
        -- A map whose keys are null or repeated is an error.
        try(map_from_entries([
            (w ->> '$[0]', w -> '$[1]') for w in from_json(r.windowperformances, '["JSON"]')
        ])) as performance
    from recorded
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    lower(r.ethaddress) as wallet,
    r.displayname as display_name,
    {{ measured(fields, required=["wallet", "account_value_usd"]) }}
from {{ read("windows", fields) }}
