with recorded as (
    {{ recorded('bybit', 'long_short_accounts', "from_json(body -> '$.result.list',
        '[{\"symbol\":\"VARCHAR\",\"buyRatio\":\"VARCHAR\",\"timestamp\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.symbol as symbol,
    try_cast(r.timestamp as bigint) as t,
    case params ->> '$.period'
        when '5min' then 300000 when '15min' then 900000 when '30min' then 1800000 when '1h' then 3600000
        when '4h' then 14400000 when '1d' then 86400000
    end::bigint as period_ms,
    try_cast(r.buyratio as double) as long_fraction,
    {{ reject(['symbol', 't', 'period_ms', 'long_fraction']) }}
from recorded
