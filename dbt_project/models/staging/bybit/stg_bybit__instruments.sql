with recorded as (
    {{ recorded('bybit', 'instruments', "from_json(body -> '$.result.list',
        '[{\"symbol\":\"VARCHAR\",\"baseCoin\":\"VARCHAR\",\"quoteCoin\":\"VARCHAR\",\"contractType\":\"VARCHAR\",
           \"status\":\"VARCHAR\",\"launchTime\":\"VARCHAR\",\"deliveryTime\":\"VARCHAR\",\"symbolType\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    r.symbol as symbol,
    r.basecoin as base_raw,
    r.quotecoin as quote,
    r.contracttype as contract_type,
    case r.status when 'Trading' then 'trading' when 'PreLaunch' then 'prelaunch' when 'Closed' then 'delisted'
        when 'Delivering' then 'delisted' else 'halted' end as status,
    nullif(try_cast(r.launchtime as bigint), 0) as listed_ms,
    nullif(try_cast(r.deliverytime as bigint), 0) as delisted_ms,
    case when r.symboltype <> '' then [r.symboltype] else [] end as category,
    {{ reject(['symbol', 'base_raw', 'quote']) }}
from recorded
where not contains(coalesce(r.symbol, ''), '-')
