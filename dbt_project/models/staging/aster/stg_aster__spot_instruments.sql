{%- set fields = {
    "symbol": word("r.symbol"),
    "base_raw": word("r.baseasset"),
    "quote": word("r.quoteasset"),
} %}
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
    case when r.status = 'TRADING' then 'trading' when r.status is not null then 'halted' end as status,
    {{ measured(fields, required=["symbol", "base_raw", "quote"]) }}
from {{ read("recorded", fields) }}
where not starts_with(coalesce(r.symbol, ''), 'TEST')
