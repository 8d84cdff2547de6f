{%- set fields = {
    "weight": fraction("r.weight"),
} %}
with recorded as (
    {{ recorded('bybit', 'index_components', "from_json(body -> '$.result.components',
        '[{\"exchange\":\"VARCHAR\",\"spotPair\":\"VARCHAR\",\"weight\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    case lower(r.exchange)
        when 'okex' then 'okx' when 'gateio' then 'gate' when 'gate.io' then 'gate' else lower(r.exchange)
    end as exchange,
    r.spotpair as pair,
    {{ measured(fields, required=["exchange", "pair", "weight"]) }}
from {{ read("recorded", fields) }}
