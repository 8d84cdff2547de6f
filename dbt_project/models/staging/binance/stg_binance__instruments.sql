with recorded as (
    {{ recorded('binance', 'instruments', "from_json(body -> '$.symbols',
        '[{\"symbol\":\"VARCHAR\",\"baseAsset\":\"VARCHAR\",\"quoteAsset\":\"VARCHAR\",\"contractType\":\"VARCHAR\",
           \"status\":\"VARCHAR\",\"onboardDate\":\"VARCHAR\",\"deliveryDate\":\"VARCHAR\",
           \"underlyingSubType\":[\"VARCHAR\"]}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    r.symbol as symbol,
    r.baseasset as base_raw,
    r.quoteasset as quote,
    r.contracttype as contract_type,
    case
        when r.status = 'TRADING' then 'trading'
        when r.status = 'PENDING_TRADING' then 'prelaunch'
        when r.status in ('PRE_SETTLE', 'SETTLING', 'CLOSE', 'PRE_DELIVERING', 'DELIVERING', 'DELIVERED') then 'delisted'
        when r.status is not null then 'halted'
    end as status,
    try_cast(r.onboarddate as bigint) as listed_ms,
    nullif(try_cast(r.deliverydate as bigint), 4133404800000) as delisted_ms,
    coalesce(r.underlyingsubtype, []) as category,
    {{ reject(['symbol', 'base_raw', 'quote']) }}
from recorded
where not contains(coalesce(r.symbol, ''), '_')
