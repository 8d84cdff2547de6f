{%- set fields = {
    "t": time_ms("r[1]", past=true),
    "long_fraction": number("r[2]", "fraction", "{0} / (1 + {0})"),
} %}
with recorded as (
    {{ recorded('okx', 'long_short_top_accounts', "from_json(body -> '$.data', '[[\"VARCHAR\"]]')", may_be_empty=true) }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    key as symbol,
    {{ period_ms("params ->> '$.period'") }} as period_ms,
    {{ measured(fields, required=["t", "period_ms", "long_fraction"]) }}
from {{ read("recorded", fields) }}
