with recorded as (
    {{ recorded('hyperliquid', 'leaderboard', "from_json(body -> '$.leaderboardRows',
        '[{\"ethAddress\":\"VARCHAR\",\"accountValue\":\"VARCHAR\",\"displayName\":\"VARCHAR\",
           \"windowPerformances\":\"JSON\"}]')") }}
),

windows as (
    select
        *,
        map_from_entries([
            (w ->> '$[0]', w -> '$[1]') for w in from_json(r.windowperformances, '["JSON"]')
        ]) as performance
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
    try_cast(r.accountvalue as double) as account_value_usd,
    try_cast(performance['day'] ->> '$.vlm' as double) as volume_day_usd,
    try_cast(performance['week'] ->> '$.vlm' as double) as volume_week_usd,
    try_cast(performance['month'] ->> '$.vlm' as double) as volume_month_usd,
    try_cast(performance['month'] ->> '$.pnl' as double) as pnl_month_usd,
    {{ reject(['wallet', 'account_value_usd']) }}
from windows
