{%- set fields = binance_perp_bar_fields() %}
with recorded as (
    {{ recorded('binance', 'perp_bars', "from_json(body, '[[\"VARCHAR\"]]')", may_be_empty=true) }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    key as symbol,
    {{ measured(fields, required=binance_perp_bar_required()) }}
from {{ read("recorded", fields) }}
