{%- set fields = {
    "bids": levels("r.bids"),
    "asks": levels("r.asks"),
} %}
with recorded as (
    {{ recorded('binance', 'index_books', "[from_json(body,
        '{\"bids\":[[\"VARCHAR\"]],\"asks\":[[\"VARCHAR\"]]}')]") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    received_ms as ts,
    'base' as size_unit,
    {{ measured(fields, required=["symbol", "ts", "bids", "asks"]) }}
from {{ read("recorded", fields) }}
