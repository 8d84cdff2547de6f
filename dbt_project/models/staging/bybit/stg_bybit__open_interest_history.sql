with recorded as (
    {{ recorded('bybit', 'open_interest_history', "from_json(body -> '$.result.list',
        '[{\"openInterest\":\"VARCHAR\",\"singleOpenInterest\":\"VARCHAR\",\"timestamp\":\"VARCHAR\"}]')",
        may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    try_cast(r.timestamp as bigint) as t,
    (case params ->> '$.intervalTime'
        when '5min' then 300000 when '15min' then 900000 when '30min' then 1800000 when '1h' then 3600000
        when '4h' then 14400000 when '1d' then 86400000
    end)::bigint as period_ms,
    try_cast(r.openinterest as double) as open_interest,
    try_cast(r.singleopeninterest as double) as single_open_interest,
    {{ reject(['t', 'period_ms', 'open_interest']) }}
from recorded
