{%- set fields = {
    "index_price": price("r.price", zero="none"),
    "ts": time_ms("r.us", "us", past=true),
} %}
with recorded as (
    {{ recorded('deribit', 'option_index', "[{'price': body ->> '$.result.index_price', 'us': body ->> '$.usOut'}]") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    upper(split_part(key, '_', 1)) as coin,
    {{ measured(fields, required=["coin", "index_price"]) }}
from {{ read("recorded", fields) }}
