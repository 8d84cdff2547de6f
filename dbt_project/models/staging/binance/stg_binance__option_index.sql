{%- set fields = {
    "ts": time_ms("r.time", past=true),
    "index_price": price("r.indexprice", zero="none"),
} %}
with recorded as (
    {{ recorded('binance', 'option_index', "[from_json(body, '{\"time\":\"VARCHAR\",\"indexPrice\":\"VARCHAR\"}')]") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    replace(key, 'USDT', '') as coin,
    {{ measured(fields, required=["coin", "index_price"]) }}
from {{ read("recorded", fields) }}
