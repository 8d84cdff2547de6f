with recorded as (
    {{ recorded('bitget', 'spot_instruments', "from_json(body -> '$.data',
        '[{\"symbol\":\"VARCHAR\",\"baseCoin\":\"VARCHAR\",\"quoteCoin\":\"VARCHAR\",
           \"status\":\"VARCHAR\",\"launchTime\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.symbol as symbol,
    r.basecoin as base_raw,
    r.quotecoin as quote,
    case r.status
        when 'online' then 'trading' when 'gray' then 'prelaunch' when 'halt' then 'halted' when 'offline' then 'delisted'
    end as status,
    case when try_cast(r.launchtime as bigint) > 0 then r.launchtime::bigint end as listed_ms,
    {{ reject(['symbol', 'base_raw', 'quote']) }}
from recorded
