{%- set fields = {
    "t": time_ms("r.timestamp", past=true),
    "open_interest": size("r.openinterest"),
    "single_open_interest": size("r.singleopeninterest"),
} %}
with recorded as (
    {{ recorded('bybit', 'open_interest_history', "from_json(body -> '$.result.list',
        '[{\"openInterest\":\"VARCHAR\",\"singleOpenInterest\":\"VARCHAR\",\"timestamp\":\"VARCHAR\"}]')",
        may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    {{ period_ms("params ->> '$.intervalTime'") }} as period_ms,
    {{ measured(fields, required=["t", "period_ms", "open_interest"]) }}
from {{ read("recorded", fields) }}
