{%- set fields = {
    "symbol": word("r.symbol"),
    "base_raw": word("r.basecurrency"),
    "quote": word("r.quotecurrency"),
} %}
with recorded as (
    {{ recorded('kucoin', 'spot_instruments', "from_json(body -> '$.data',
        '[{\"symbol\":\"VARCHAR\",\"baseCurrency\":\"VARCHAR\",\"quoteCurrency\":\"VARCHAR\",\"enableTrading\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    case r.enabletrading when 'false' then 'halted' else 'trading' end as status,
    {{ measured(fields, required=["symbol", "base_raw", "quote"]) }}
from {{ read("recorded", fields) }}
