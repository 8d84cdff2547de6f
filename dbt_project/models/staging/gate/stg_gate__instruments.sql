with recorded as (
    {{ recorded('gate', 'instruments', "from_json(body,
        '[{\"name\":\"VARCHAR\",\"type\":\"VARCHAR\",\"quanto_multiplier\":\"VARCHAR\",\"funding_interval\":\"VARCHAR\",
           \"status\":\"VARCHAR\",\"in_delisting\":\"VARCHAR\",\"position_size\":\"VARCHAR\",\"launch_time\":\"VARCHAR\",
           \"create_time\":\"VARCHAR\",\"delisting_time\":\"VARCHAR\",\"delisted_time\":\"VARCHAR\",
           \"contract_type\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.name as symbol,
    left(r.name, length(r.name) - length(split_part(r.name, '_', -1)) - 1) as base_raw,
    split_part(r.name, '_', -1) as quote,
    case when r.type = 'inverse' then base_raw else quote end as settle,
    r.type as contract_type,
    case
        when r.status = 'delisted' or (r.in_delisting = 'true' and try_cast(r.position_size as double) = 0) then 'delisted'
        when r.status = 'prelaunch' then 'prelaunch'
        when r.in_delisting = 'true' or coalesce(r.status, 'trading') <> 'trading' then 'halted'
        else 'trading'
    end as status,
    coalesce(nullif(try_cast(r.launch_time as bigint), 0), nullif(try_cast(r.create_time as bigint), 0)) * 1000 as listed_ms,
    coalesce(nullif(try_cast(r.delisted_time as bigint), 0), nullif(try_cast(r.delisting_time as bigint), 0)) * 1000 as delisted_ms,
    case when r.type = 'inverse' then 1 else nullif(try_cast(r.quanto_multiplier as double), 0) end as contract_size,
    r.type = 'inverse' as inverse,
    case when r.contract_type <> '' then [r.contract_type] else []::varchar[] end as category,
    nullif(try_cast(r.funding_interval as double), 0) / 3600 as interval_h,
    {{ reject(['symbol', 'base_raw', 'quote', 'contract_size']) }}
from recorded
where key <> 'btc' or r.type = 'inverse' or r is null
