{%- set fields = {
    "settled_ms": time_ms("r.t", "s", past=true),
    "funding_rate": rate("r.r"),
} %}
with recorded as (
    {{ recorded('gate', 'settlements', "from_json(body, '[{\"t\":\"VARCHAR\",\"r\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    {{ measured(fields, required=["settled_ms", "funding_rate"]) }}
from {{ read("recorded", fields) }}
