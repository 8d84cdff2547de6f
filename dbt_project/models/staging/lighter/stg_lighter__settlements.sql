{%- set fields = {
    "settled_ms": time_ms("r.timestamp", "s", past=true),
    "funding_rate": rate("r.rate", "{} / 100 * case r.direction when 'long' then 1 when 'short' then -1 end"),
} %}
with recorded as (
    {{ recorded('lighter', 'settlements', "case when json_valid(body) then coalesce(from_json(body -> '$.fundings',
        '[{\"timestamp\":\"VARCHAR\",\"rate\":\"VARCHAR\",\"direction\":\"VARCHAR\"}]'), []) end", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    substr(key, strpos(key, ':') + 1) as symbol,
    {{ measured(fields, required=["settled_ms", "funding_rate"]) }}
from {{ read("recorded", fields) }}
