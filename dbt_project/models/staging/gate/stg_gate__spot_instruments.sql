with recorded as (
    {{ recorded('gate', 'spot_instruments', "from_json(body,
        '[{\"id\":\"VARCHAR\",\"base\":\"VARCHAR\",\"quote\":\"VARCHAR\",\"trade_status\":\"VARCHAR\",
           \"buy_start\":\"VARCHAR\",\"delisting_time\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.id as symbol,
    r.base as base_raw,
    r.quote as quote,
    case
        when r.trade_status = 'untradable' then 'delisted'
        when r.trade_status <> 'tradable' then 'halted'
        when try_cast(r.buy_start as bigint) * 1000 > received_ms then 'prelaunch'
        else 'trading'
    end as status,
    nullif(try_cast(r.buy_start as bigint), 0) * 1000 as listed_ms,
    nullif(try_cast(r.delisting_time as bigint), 0) * 1000 as delisted_ms,
    {{ reject(['symbol', 'base_raw', 'quote']) }}
from recorded
