with recorded as (
    {{ recorded('aster', 'spot_instruments', "from_json(body -> '$.symbols',
        '[{\"symbol\":\"VARCHAR\",\"baseAsset\":\"VARCHAR\",\"quoteAsset\":\"VARCHAR\",\"status\":\"VARCHAR\"}]')") }}
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
    case when r.status = 'TRADING' then 'trading' when r.status is not null then 'halted' end as status,
    {{ reject(['symbol', 'base_raw', 'quote']) }}
from recorded
where not starts_with(coalesce(r.symbol, ''), 'TEST')
