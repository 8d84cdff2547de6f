{%- set fields = {
    "symbol": word("r.symbol"),
    "base_raw": word("r.baseasset"),
    "quote": word("r.quoteasset"),
    "listed_ms": time_ms("r.onboarddate"),
    "delisted_ms": time_ms("nullif(r.deliverydate, '4133404800000')"),
    "contract_size": contract_size("coalesce(r.contractsize, '1')"),
} %}
with recorded as (
    {{ recorded('binance', 'instruments', "from_json(body -> '$.symbols',
        '[{\"symbol\":\"VARCHAR\",\"baseAsset\":\"VARCHAR\",\"quoteAsset\":\"VARCHAR\",\"contractType\":\"VARCHAR\",
           \"status\":\"VARCHAR\",\"contractStatus\":\"VARCHAR\",\"contractSize\":\"VARCHAR\",
           \"marginAsset\":\"VARCHAR\",\"onboardDate\":\"VARCHAR\",\"deliveryDate\":\"VARCHAR\",
           \"underlyingSubType\":[\"VARCHAR\"]}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    r.contracttype as contract_type,
    coalesce({{ binance_is_coin_margined("r.symbol") }}, false) as inverse,
    nullif(r.marginasset, '') as settle,
    -- USD-M calls it status, COIN-M contractStatus.
    case
        when coalesce(r.status, r.contractstatus) = 'TRADING' then 'trading'
        when coalesce(r.status, r.contractstatus) = 'PENDING_TRADING' then 'prelaunch'
        when coalesce(r.status, r.contractstatus) in ('PRE_SETTLE', 'SETTLING', 'CLOSE', 'PRE_DELIVERING', 'DELIVERING', 'DELIVERED') then 'delisted'
        when coalesce(r.status, r.contractstatus) is not null then 'halted'
    end as status,
    coalesce(r.underlyingsubtype, []) as category,
    {{ measured(fields, required=["symbol", "base_raw", "quote"]) }}
from {{ read("recorded", fields) }}
where not {{ binance_is_dated("r.symbol") }}
