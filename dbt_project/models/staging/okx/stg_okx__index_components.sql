{%- set fields = {
    "weight": fraction("r.wgt"),
} %}
with recorded as (
    {{ recorded('okx', 'index_components', "from_json(body -> '$.data.components',
        '[{\"exch\":\"VARCHAR\",\"symbol\":\"VARCHAR\",\"wgt\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    key || '-SWAP' as symbol,
    case lower(r.exch) when 'gateio' then 'gate' when 'gate.io' then 'gate' when 'okex' then 'okx' else lower(r.exch) end as exchange,
    r.symbol as pair,
    {{ measured(fields, required=["exchange", "pair"]) }}
from {{ read("recorded", fields) }}
