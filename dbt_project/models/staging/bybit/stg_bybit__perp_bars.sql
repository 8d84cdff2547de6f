{%- set fields = {
    "opened_ms": time_ms("r[1]", past=true),
    "closed_ms": bar_end(period_ms("params ->> '$.interval'", unit_ms=60000)),
    "open": price("r[2]"),
    "high": price("r[3]"),
    "low": price("r[4]"),
    "close": price("r[5]"),
    "volume": size("case when ends_with(key, 'USD') then r[7] else r[6] end"),
    "turnover": amount("case when ends_with(key, 'USD') then r[6] else r[7] end"),
} %}
with recorded as (
    {{ recorded('bybit', 'perp_bars', "from_json(body -> '$.result.list', '[[\"VARCHAR\"]]')", may_be_empty=true) }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    key as symbol,
    {{ measured(fields, required=["opened_ms", "closed_ms", "open", "close", "volume", "turnover"]) }}
from {{ read("recorded", fields) }}
