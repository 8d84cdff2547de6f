with recorded as (
    {{ recorded('coinbase', 'spot_instruments', "from_json(body,
        '[{\"id\":\"VARCHAR\",\"base_currency\":\"VARCHAR\",\"quote_currency\":\"VARCHAR\",\"status\":\"VARCHAR\",
           \"trading_disabled\":\"BOOLEAN\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.id as symbol,
    r.base_currency as base_raw,
    r.quote_currency as quote,
    case
        when r.status = 'delisted' then 'delisted'
        when r.status = 'online' and not coalesce(r.trading_disabled, false) then 'trading'
        else 'halted'
    end as status,
    {{ reject(['symbol', 'base_raw', 'quote']) }}
from recorded
