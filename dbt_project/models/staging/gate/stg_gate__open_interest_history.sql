with recorded as (
    {{ recorded('gate', 'contract_stats', "from_json(body,
        '[{\"time\":\"VARCHAR\",\"open_interest\":\"VARCHAR\",\"open_interest_usd\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    try_cast(r.time as bigint) * 1000 as t,
    (case params ->> '$.interval'
        when '1m' then 60000 when '5m' then 300000 when '15m' then 900000 when '1h' then 3600000 when '4h' then 14400000
        when '1d' then 86400000
    end)::bigint as period_ms,
    try_cast(r.open_interest as double) as open_contracts,
    try_cast(r.open_interest_usd as double) as open_interest_usd,
    {{ reject(['t', 'period_ms', 'open_contracts']) }}
from recorded
where r is null or coalesce(t + period_ms <= tick_ms, true)
