{%- set fields = {
    "t": time_ms("r.ts", past=true),
    "taker_buy": size("r.buyvolume"),
    "taker_sell": size("r.sellvolume"),
} %}
with recorded as (
    {{ recorded('bitget', 'taker_ratio', "case when body ->> '$.code' = '40054' then [] else from_json(body -> '$.data',
        '[{\"buyVolume\":\"VARCHAR\",\"sellVolume\":\"VARCHAR\",\"ts\":\"VARCHAR\"}]') end",
        may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    {{ period_ms("params ->> '$.period'") }} as period_ms,
    'base' as unit,
    {{ measured(fields, required=["t", "period_ms", "taker_buy", "taker_sell"]) }}
from {{ read("recorded", fields) }}
