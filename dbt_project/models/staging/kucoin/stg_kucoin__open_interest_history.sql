with recorded as (
    {{ recorded('kucoin', 'open_interest_history', "from_json(body -> '$.data',
        '[{\"openInterest\":\"VARCHAR\",\"ts\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    try_cast(r.ts as bigint) as t,
    (case params ->> '$.interval'
        when '5min' then 300000 when '15min' then 900000 when '30min' then 1800000 when '1hour' then 3600000
        when '4hour' then 14400000 when '1day' then 86400000
    end)::bigint as period_ms,
    try_cast(r.openinterest as double) as open_contracts,
    {{ reject(['t', 'period_ms', 'open_contracts']) }}
from recorded
