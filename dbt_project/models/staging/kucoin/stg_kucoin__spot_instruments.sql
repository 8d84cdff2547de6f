with recorded as (
    {{ recorded('kucoin', 'spot_instruments', "from_json(body -> '$.data',
        '[{\"symbol\":\"VARCHAR\",\"baseCurrency\":\"VARCHAR\",\"quoteCurrency\":\"VARCHAR\",\"enableTrading\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.symbol as symbol,
    r.basecurrency as base_raw,
    r.quotecurrency as quote,
    case r.enabletrading when 'false' then 'halted' else 'trading' end as status,
    {{ reject(['symbol', 'base_raw', 'quote']) }}
from recorded
