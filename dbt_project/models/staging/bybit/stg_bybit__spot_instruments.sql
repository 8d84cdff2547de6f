{%- set fields = {
    "symbol": word("r.symbol"),
    "base_raw": word("r.basecoin"),
    "quote": word("r.quotecoin"),
} %}
with recorded as (
    {{ recorded('bybit', 'spot_instruments', "from_json(body -> '$.result.list',
        '[{\"symbol\":\"VARCHAR\",\"baseCoin\":\"VARCHAR\",\"quoteCoin\":\"VARCHAR\",\"status\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    case r.status when 'Trading' then 'trading' when 'PreLaunch' then 'prelaunch' when 'Closed' then 'delisted'
        when 'Delivering' then 'delisted' else 'halted' end as status,
    {{ measured(fields, required=["symbol", "base_raw", "quote"]) }}
from {{ read("recorded", fields) }}
