{%- set fields = {
    "ts": time_ms("r.t", past=true),
    "bids": levels("r.bids"),
    "asks": levels("r.asks"),
} %}
with recorded as (
    {{ recorded('binance', 'order_books', "[from_json(body,
        '{\"T\":\"VARCHAR\",\"bids\":[[\"VARCHAR\"]],\"asks\":[[\"VARCHAR\"]]}')]") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    'base' as size_unit,
    {{ measured(fields, required=["ts", "bids", "asks"]) }}
from {{ read("recorded", fields) }}
