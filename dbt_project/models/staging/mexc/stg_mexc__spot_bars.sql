{%- set fields = {
    "opened_ms": time_ms("r[1]", past=true),
    "open": price("r[2]"),
    "high": price("r[3]"),
    "low": price("r[4]"),
    "close": price("r[5]"),
    "volume": size("r[6]"),
    "turnover": amount("r[8]"),
    "_next_ms": time_ms("r[7]"),
    "closed_ms": "_next_ms - 1",
} %}
with recorded as (
    {{ recorded('mexc', 'spot_bars', "from_json(body, '[[\"VARCHAR\"]]')",
        may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    {{ measured(fields, required=["opened_ms", "closed_ms", "open", "close", "volume", "turnover"]) }}
from {{ read("recorded", fields) }}
