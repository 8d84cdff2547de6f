{%- set fields = {
    "symbol": word("r.symbol"),
    "base_raw": word("r.basecoin"),
    "quote": word("r.quotecoin"),
    "listed_ms": time_ms("r.launchtime"),
    "delisted_ms": time_ms("r.deliverytime"),
} %}
with recorded as (
    {{ recorded('bybit', 'instruments', "from_json(body -> '$.result.list',
        '[{\"symbol\":\"VARCHAR\",\"baseCoin\":\"VARCHAR\",\"quoteCoin\":\"VARCHAR\",\"settleCoin\":\"VARCHAR\",\"contractType\":\"VARCHAR\",
           \"status\":\"VARCHAR\",\"launchTime\":\"VARCHAR\",\"deliveryTime\":\"VARCHAR\",\"symbolType\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    r.contracttype as contract_type,
    nullif(r.settlecoin, '') as settle,
    coalesce(r.contracttype = 'InversePerpetual', false) as inverse,
    case r.status when 'Trading' then 'trading' when 'PreLaunch' then 'prelaunch' when 'Closed' then 'delisted'
        when 'Delivering' then 'delisted' else 'halted' end as status,
    case when r.symboltype <> '' then [r.symboltype] else [] end as category,
    {{ measured(fields, required=["symbol", "base_raw", "quote"]) }}
from {{ read("recorded", fields) }}
where not contains(coalesce(r.symbol, ''), '-') and not ends_with(coalesce(r.contracttype, ''), 'Futures')
