with recorded as (
    {{ recorded('okx', 'taker_ratio', "from_json(body -> '$.data', '[[\"VARCHAR\"]]')", may_be_empty=true) }}
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
    try_cast(r[3] as double) as taker_buy,
    try_cast(r[2] as double) as taker_sell,
    case params ->> '$.unit' when '0' then 'base' when '1' then 'contracts' when '2' then 'usd' end as unit,
    {{ reject(['t', 'period_ms', 'taker_buy', 'taker_sell', 'unit']) }}
from recorded
