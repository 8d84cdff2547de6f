{%- set fields = {
    "weight": fraction("r.weight"),
} %}
with recorded as (
    {{ recorded('binance', 'index_components', "from_json(body -> '$.constituents',
        '[{\"exchange\":\"VARCHAR\",\"symbol\":\"VARCHAR\",\"weight\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    case lower(r.exchange)
        when 'okex' then 'okx' when 'gateio' then 'gate' when 'mxc' then 'mexc' else lower(r.exchange)
    end as exchange,
    r.symbol as pair,
    {{ measured(fields, required=["exchange", "pair", "weight"]) }}
from {{ read("recorded", fields) }}
