{%- set fields = {
    "ts": time_ms("r.ts", past=true),
    "bids": levels("[level[1:2] for level in r.bids]"),
    "asks": levels("[level[1:2] for level in r.asks]"),
} %}
with recorded as (
    {{ recorded('okx', 'index_books', "from_json(body -> '$.data',
        '[{\"asks\":[[\"VARCHAR\"]],\"bids\":[[\"VARCHAR\"]],\"ts\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    key as symbol,
    'base' as size_unit,
    {{ measured(fields, required=["ts", "bids", "asks"]) }}
from {{ read("recorded", fields) }}
