{%- set fields = {
    "t": time_ms("r.ts", past=true),
    "open_contracts": size("r.openinterest"),
} %}
with recorded as (
    {{ recorded('kucoin', 'open_interest_history', "from_json(body -> '$.data',
        '[{\"openInterest\":\"VARCHAR\",\"ts\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    {{ period_ms("params ->> '$.interval'") }} as period_ms,
    {{ measured(fields, required=["t", "period_ms", "open_contracts"]) }}
from {{ read("recorded", fields) }}
