{%- set fields = {
    "opened_ms": time_ms("r[1]", past=true),
    "closed_ms": bar_end(period_ms("params ->> '$.bar'")),
    "open": price("r[2]"),
    "high": price("r[3]"),
    "low": price("r[4]"),
    "close": price("r[5]"),
    "volume": size("r[7]"),
    "turnover": amount("r[8]"),
} %}
with recorded as (
    {{ recorded('okx', 'perp_bars', "from_json(body -> '$.data', '[[\"VARCHAR\"]]')", may_be_empty=true) }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    key as symbol,
    {{ measured(fields, required=["opened_ms", "closed_ms", "open", "high", "low", "close", "volume", "turnover"]) }}
from {{ read("recorded", fields) }}
where r[9] is distinct from '0'
