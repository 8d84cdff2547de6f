with recorded as (
    {{ recorded('gate', 'contract_stats', "from_json(body,
        '[{\"time\":\"VARCHAR\",\"long_taker_size\":\"VARCHAR\",\"short_taker_size\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    try_cast(r.time as bigint) * 1000 as t,
    case params ->> '$.interval'
        when '1m' then 60000 when '5m' then 300000 when '15m' then 900000 when '1h' then 3600000 when '4h' then 14400000
        when '1d' then 86400000
    end::bigint as period_ms,
    try_cast(r.long_taker_size as double) as taker_buy,
    try_cast(r.short_taker_size as double) as taker_sell,
    'contracts' as unit,
    {{ reject(['t', 'period_ms', 'taker_buy', 'taker_sell']) }}
from recorded
where r is null or coalesce(t + period_ms <= tick_ms, true)
