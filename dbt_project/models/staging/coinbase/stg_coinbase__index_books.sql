{%- set fields = {
    "ts": time_of_text("r.time", past=true),
    "bids": levels("[level[1:2] for level in r.bids]"),
    "asks": levels("[level[1:2] for level in r.asks]"),
} %}
with recorded as (
    {{ recorded('coinbase', 'index_books', "[from_json(body,
        '{\"time\":\"VARCHAR\",\"bids\":[[\"VARCHAR\"]],\"asks\":[[\"VARCHAR\"]]}')]") }}
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
