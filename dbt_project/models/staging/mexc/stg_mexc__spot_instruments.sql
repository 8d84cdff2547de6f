with recorded as (
    {{ recorded('mexc', 'spot_instruments', "from_json(body -> '$.symbols',
        '[{\"symbol\":\"VARCHAR\",\"baseAsset\":\"VARCHAR\",\"quoteAsset\":\"VARCHAR\",
           \"status\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.symbol as symbol,
    r.baseasset as base_raw,
    r.quoteasset as quote,
    case r.status when '1' then 'trading' when '2' then 'halted' when '3' then 'delisted' end as status,
    {{ reject(['symbol', 'base_raw', 'quote']) }}
from recorded
