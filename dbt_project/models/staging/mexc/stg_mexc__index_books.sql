{%- set fields = {
    "ts": time_ms("coalesce(r.timestamp, received_ms::varchar)", past=true),
    "bids": levels("r.bids"),
    "asks": levels("r.asks"),
} %}
with recorded as (
    {{ recorded('mexc', 'index_books', "[from_json(body,
        '{\"timestamp\":\"VARCHAR\",\"bids\":[[\"VARCHAR\"]],\"asks\":[[\"VARCHAR\"]]}')]") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    'base' as size_unit,
    {{ measured(fields, required=["symbol", "ts", "bids", "asks"]) }}
from {{ read("recorded", fields) }}
