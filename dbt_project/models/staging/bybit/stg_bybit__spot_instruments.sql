with recorded as (
    {{ recorded('bybit', 'spot_instruments', "from_json(body -> '$.result.list',
        '[{\"symbol\":\"VARCHAR\",\"baseCoin\":\"VARCHAR\",\"quoteCoin\":\"VARCHAR\",\"status\":\"VARCHAR\"}]')") }}
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
    case r.status when 'Trading' then 'trading' when 'PreLaunch' then 'prelaunch' when 'Closed' then 'delisted'
        when 'Delivering' then 'delisted' else 'halted' end as status,
    {{ reject(['symbol', 'base_raw', 'quote']) }}
from recorded
