with recorded as (
    {{ recorded('okx', 'long_short_top_positions', "from_json(body -> '$.data', '[[\"VARCHAR\"]]')", may_be_empty=true) }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    key as symbol,
    try_cast(r[1] as bigint) as t,
    case params ->> '$.period' when '5m' then 300000 when '1H' then 3600000 when '1Dutc' then 86400000 end::bigint as period_ms,
    try_cast(r[2] as double) / (1 + try_cast(r[2] as double)) as long_fraction,
    {{ reject(['t', 'period_ms', 'long_fraction']) }}
from recorded
