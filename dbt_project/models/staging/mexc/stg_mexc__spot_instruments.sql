{%- set fields = {
    "symbol": word("r.symbol"),
    "base_raw": word("r.baseasset"),
    "quote": word("r.quoteasset"),
} %}
with recorded as (
    {{ recorded('mexc', 'spot_instruments', "from_json(body -> '$.symbols',
        '[{\"symbol\":\"VARCHAR\",\"baseAsset\":\"VARCHAR\",\"quoteAsset\":\"VARCHAR\",
           \"status\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    case r.status when '1' then 'trading' when '2' then 'halted' when '3' then 'delisted' end as status,
    {{ measured(fields, required=["symbol", "base_raw", "quote"]) }}
from {{ read("recorded", fields) }}
