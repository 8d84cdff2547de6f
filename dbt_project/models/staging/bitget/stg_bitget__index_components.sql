{%- set fields = {
    "weight": fraction("r.weight"),
} %}
with recorded as (
    {{ recorded('bitget', 'index_components', "from_json(body -> '$.data.componentList',
        '[{\"exchange\":\"VARCHAR\",\"spotPair\":\"VARCHAR\",\"weight\":\"VARCHAR\"}]')",
        may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    lower(r.exchange) as exchange,
    r.spotpair as pair,
    {{ measured(fields, required=["exchange", "pair"]) }}
from {{ read("recorded", fields) }}
