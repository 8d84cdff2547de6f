{%- set fields = {
    "t": time_ms("r[1]", past=true),
    "open_interest": size("r[3]"),
    "open_contracts": size("r[2]"),
    "open_interest_usd": amount("r[4]"),
} %}
with recorded as (
    {{ recorded('okx', 'open_interest_history', "from_json(body -> '$.data', '[[\"VARCHAR\"]]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    {{ period_ms("params ->> '$.period'") }} as period_ms,
    {{ measured(fields, required=["t", "period_ms", "open_interest", "open_contracts"]) }}
from {{ read("recorded", fields) }}
