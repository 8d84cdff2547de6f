{%- set fields = {
    "weight": fraction("r.weight"),
} %}
with recorded as (
    {{ recorded('kucoin', 'index_components', "from_json(body -> '$.data.dataList[0].decomposionList',
        '[{\"exchange\":\"VARCHAR\",\"weight\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    split_part(key, ' ', 1) as symbol,
    case lower(r.exchange) when 'gateio' then 'gate' when 'gate.io' then 'gate' when 'okex' then 'okx' else lower(r.exchange) end as exchange,
    null::varchar as pair,
    {{ measured(fields, required=["exchange", "weight"]) }}
from {{ read("recorded", fields) }}
