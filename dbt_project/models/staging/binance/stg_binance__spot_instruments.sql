with recorded as (
    {{ recorded('binance', 'spot_instruments', "from_json(body -> '$.symbols',
        '[{\"symbol\":\"VARCHAR\",\"baseAsset\":\"VARCHAR\",\"quoteAsset\":\"VARCHAR\",\"status\":\"VARCHAR\"}]')") }}
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
    case r.status when 'TRADING' then 'trading' when 'PRE_TRADING' then 'prelaunch' else 'halted' end as status,
    {{ reject(['symbol', 'base_raw', 'quote']) }}
from recorded
