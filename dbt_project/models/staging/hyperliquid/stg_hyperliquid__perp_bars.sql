{%- set fields = {
    "opened_ms": time_ms("r ->> '$.t'", past=true),
    "closed_ms": time_ms("r ->> '$.T'"),
    "open": price("r ->> '$.o'"),
    "high": price("r ->> '$.h'"),
    "low": price("r ->> '$.l'"),
    "close": price("r ->> '$.c'"),
    "volume": size("r ->> '$.v'"),
} %}
with recorded as (
    {{ recorded('hyperliquid', 'perp_bars', "from_json(body, '[\"JSON\"]')", may_be_empty=true) }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    key as symbol,
    {{ measured(fields, required=["opened_ms", "closed_ms", "open", "high", "low", "close", "volume"]) }}
from {{ read("recorded", fields) }}
