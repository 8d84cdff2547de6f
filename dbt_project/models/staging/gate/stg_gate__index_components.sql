{%- set fields = {} %}
with recorded as (
    {{ recorded('gate', 'index_components', "from_json(body -> '$.constituents',
        '[{\"exchange\":\"VARCHAR\",\"symbols\":[\"VARCHAR\"]}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    case lower(r.exchange) when 'gate.io' then 'gate' when 'okex' then 'okx' else lower(r.exchange) end as exchange,
    unnest(coalesce(nullif(r.symbols, []), [null])) as pair,
    null::double as weight,
    {{ measured(fields, required=["exchange"]) }}
from {{ read("recorded", fields) }}
