with recorded as (
    {{ recorded('okx', 'open_interest_history', "from_json(body -> '$.data', '[[\"VARCHAR\"]]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    try_cast(r[1] as bigint) as t,
    (case params ->> '$.period' when '5m' then 300000 when '1H' then 3600000 when '1Dutc' then 86400000 end)::bigint as period_ms,
    try_cast(r[3] as double) as open_interest,
    try_cast(r[2] as double) as open_contracts,
    try_cast(r[4] as double) as open_interest_usd,
    {{ reject(['t', 'period_ms', 'open_interest', 'open_contracts']) }}
from recorded
