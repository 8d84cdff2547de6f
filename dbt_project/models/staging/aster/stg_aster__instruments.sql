{%- set fields = {
    "symbol": word("r.symbol"),
    "base_raw": word("r.baseasset"),
    "quote": word("r.quoteasset"),
    "listed_ms": time_ms("r.onboarddate"),
    "delisted_ms": time_ms("nullif(r.deliverydate, '4133404800000')"),
} %}
with recorded as (
    {{ recorded('aster', 'instruments', "from_json(body -> '$.symbols',
        '[{\"symbol\":\"VARCHAR\",\"baseAsset\":\"VARCHAR\",\"quoteAsset\":\"VARCHAR\",\"marginAsset\":\"VARCHAR\",
           \"contractType\":\"VARCHAR\",\"status\":\"VARCHAR\",\"onboardDate\":\"VARCHAR\",\"deliveryDate\":\"VARCHAR\",
           \"underlyingSubType\":[\"VARCHAR\"]}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.marginasset as settle,
    r.contracttype as contract_type,
    case
        when r.status = 'TRADING' then 'trading'
        when r.status = 'PENDING_TRADING' then 'prelaunch'
        when r.status in ('PRE_SETTLE', 'SETTLING', 'CLOSE') then 'delisted'
        when r.status is not null then 'halted'
    end as status,
    coalesce(r.underlyingsubtype, []) as category,
    {{ measured(fields, required=["symbol", "base_raw", "quote"]) }}
from {{ read("recorded", fields) }}
where not starts_with(coalesce(r.symbol, ''), 'TEST')
