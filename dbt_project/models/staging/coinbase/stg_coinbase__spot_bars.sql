{%- set fields = {
    "opened_ms": time_ms("r[1]", "s", past=true),
    "closed_ms": bar_end(period_ms("params ->> '$.granularity'", unit_ms=1000)),
    "open": price("r[4]"),
    "high": price("r[3]"),
    "low": price("r[2]"),
    "close": price("r[5]"),
    "volume": size("r[6]"),
} %}
with recorded as (
    {{ recorded('coinbase', 'spot_bars', "from_json(body, '[[\"VARCHAR\"]]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    {{ measured(fields, required=["opened_ms", "closed_ms", "open", "high", "low", "close", "volume"]) }}
from {{ read("recorded", fields) }}
