{%- set fields = {
    "symbol": word("r.symbol"),
    "base_raw": word("r.baseasset"),
    "quote": word("r.quoteasset"),
} %}
with recorded as (
    {{ recorded('binance', 'spot_instruments', "from_json(body -> '$.symbols',
        '[{\"symbol\":\"VARCHAR\",\"baseAsset\":\"VARCHAR\",\"quoteAsset\":\"VARCHAR\",\"status\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    case r.status when 'TRADING' then 'trading' when 'PRE_TRADING' then 'prelaunch' else 'halted' end as status,
    {{ measured(fields, required=["symbol", "base_raw", "quote"]) }}
from {{ read("recorded", fields) }}
