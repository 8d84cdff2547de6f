{%- set fields = {
    "symbol": word("r.symbol"),
    "base_raw": word("r.basecoin"),
    "quote": word("r.quotecoin"),
    "listed_ms": time_ms("r.launchtime"),
} %}
with recorded as (
    {{ recorded('bitget', 'spot_instruments', "from_json(body -> '$.data',
        '[{\"symbol\":\"VARCHAR\",\"baseCoin\":\"VARCHAR\",\"quoteCoin\":\"VARCHAR\",
           \"status\":\"VARCHAR\",\"launchTime\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    case r.status
        when 'online' then 'trading' when 'gray' then 'prelaunch' when 'halt' then 'halted' when 'offline' then 'delisted'
    end as status,
    {{ measured(fields, required=["symbol", "base_raw", "quote"]) }}
from {{ read("recorded", fields) }}
