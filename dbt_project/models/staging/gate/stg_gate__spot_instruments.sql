{%- set fields = {
    "symbol": word("r.id"),
    "base_raw": word("r.base"),
    "quote": word("r.quote"),
    "listed_ms": time_ms("r.buy_start", "s"),
    "delisted_ms": time_ms("r.delisting_time", "s"),
} %}
with recorded as (
    {{ recorded('gate', 'spot_instruments', "from_json(body,
        '[{\"id\":\"VARCHAR\",\"base\":\"VARCHAR\",\"quote\":\"VARCHAR\",\"trade_status\":\"VARCHAR\",
           \"buy_start\":\"VARCHAR\",\"delisting_time\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    case
        when r.trade_status = 'untradable' then 'delisted'
        when r.trade_status <> 'tradable' then 'halted'
        when listed_ms > received_ms then 'prelaunch'
        else 'trading'
    end as status,
    {{ measured(fields, required=["symbol", "base_raw", "quote"]) }}
from {{ read("recorded", fields) }}
