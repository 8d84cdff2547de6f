{%- set fields = {
    "symbol": word("r.symbol"),
    "base_raw": word("r.basecoin"),
    "quote": word("r.quotecoin"),
    "interval_h": hours("r.fundinterval"),
    "listed_ms": time_ms("r.launchtime"),
    "delisted_ms": time_ms("r.offtime"),
} %}
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
    case r.category
        when 'USDT-FUTURES' then 'USDT' when 'USDC-FUTURES' then 'USDC' when 'COIN-FUTURES' then r.basecoin
    end as settle,
    r.type as contract_type,
    r.category = 'COIN-FUTURES' as inverse,
    false as hip3,
    case when r.symboltype <> '' then [r.symboltype] else [] end as category,
    {{ measured(fields, required=["symbol", "base_raw", "quote"]) }},
    case
        when r.status in ('online', 'limit_open', 'limit_close', 'restrictedAPI') then 'trading'
        when r.status = 'listed' then 'prelaunch'
        when r.status = 'offline' and delisted_ms <= received_ms then 'delisted'
        when r.status = 'offline' then 'halted'
    end as status
from {{ read("recorded", fields) }}
where coalesce(r.type, 'perpetual') = 'perpetual'
