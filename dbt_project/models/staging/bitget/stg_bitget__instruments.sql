with recorded as (
    {{ recorded('bitget', 'instruments', "from_json(body -> '$.data',
        '[{\"symbol\":\"VARCHAR\",\"category\":\"VARCHAR\",\"baseCoin\":\"VARCHAR\",
           \"quoteCoin\":\"VARCHAR\",\"type\":\"VARCHAR\",\"status\":\"VARCHAR\",
           \"launchTime\":\"VARCHAR\",\"offTime\":\"VARCHAR\",\"fundInterval\":\"VARCHAR\",
           \"symbolType\":\"VARCHAR\"}]')") }}
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
    case r.category
        when 'USDT-FUTURES' then 'USDT' when 'USDC-FUTURES' then 'USDC' when 'COIN-FUTURES' then r.basecoin
    end as settle,
    r.type as contract_type,
    case when try_cast(r.launchtime as bigint) > 0 then r.launchtime::bigint end as listed_ms,
    case when try_cast(r.offtime as bigint) > 0 then r.offtime::bigint end as delisted_ms,
    case
        when r.status in ('online', 'limit_open', 'limit_close', 'restrictedAPI') then 'trading'
        when r.status = 'listed' then 'prelaunch'
        when r.status = 'offline' and delisted_ms <= received_ms then 'delisted'
        when r.status = 'offline' then 'halted'
    end as status,
    r.category = 'COIN-FUTURES' as inverse,
    false as hip3,
    case when r.symboltype <> '' then [r.symboltype] else [] end as category,
    nullif(try_cast(r.fundinterval as double), 0) as interval_h,
    {{ reject(['symbol', 'base_raw', 'quote']) }}
from recorded
where coalesce(r.type, 'perpetual') = 'perpetual'
