{%- set fields = {
    "index_price": price("r.price", zero="none"),
    "ts": time_ms("r.ms", past=true),
} %}
with recorded as (
    {{ recorded('bybit', 'option_tickers', "[{'price': body ->> '$.result.list[0].indexPrice', 'ms': body ->> '$.time'}]") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as coin,
    {{ measured(fields, required=["coin", "index_price"]) }}
from {{ read("recorded", fields) }}
