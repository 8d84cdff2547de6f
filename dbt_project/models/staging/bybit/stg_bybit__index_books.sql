{%- set fields = {
    "symbol": word("r.s"),
    "ts": time_ms("r.ts", past=true),
    "bids": levels("r.b"),
    "asks": levels("r.a"),
} %}
with recorded as (
    {{ recorded('bybit', 'index_books', "[from_json(body -> '$.result',
        '{\"s\":\"VARCHAR\",\"ts\":\"VARCHAR\",\"b\":[[\"VARCHAR\"]],\"a\":[[\"VARCHAR\"]]}')]") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    'base' as size_unit,
    {{ measured(fields, required=["symbol", "ts", "bids", "asks"]) }}
from {{ read("recorded", fields) }}
