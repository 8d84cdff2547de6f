{%- set fields = {
    "symbol": word("r.id"),
    "base_raw": word("r.base_currency"),
    "quote": word("r.quote_currency"),
} %}
with recorded as (
    {{ recorded('coinbase', 'spot_instruments', "from_json(body,
        '[{\"id\":\"VARCHAR\",\"base_currency\":\"VARCHAR\",\"quote_currency\":\"VARCHAR\",\"status\":\"VARCHAR\",
           \"trading_disabled\":\"BOOLEAN\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    case
        when r.status = 'delisted' then 'delisted'
        when r.status = 'online' and not coalesce(r.trading_disabled, false) then 'trading'
        else 'halted'
    end as status,
    {{ measured(fields, required=["symbol", "base_raw", "quote"]) }}
from {{ read("recorded", fields) }}
