{%- set fields = {
    "opened_ms": time_ms("r[1]", "s", past=true),
    "closed_ms": bar_end(period_ms("params ->> '$.interval'")),
    "open": price("r[6]"),
    "high": price("r[4]"),
    "low": price("r[5]"),
    "close": price("r[3]"),
    "volume": size("r[7]"),
    "turnover": amount("r[2]"),
} %}
with recorded as (
    {{ recorded('gate', 'spot_bars', "from_json(body, '[[\"VARCHAR\"]]')", may_be_empty=true) }}
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
