{%- set fields = {
    "t": time_ms("r[1]", past=true),
    "taker_buy": size("r[3]"),
    "taker_sell": size("r[2]"),
} %}
with recorded as (
    {{ recorded('okx', 'taker_ratio', "from_json(body -> '$.data', '[[\"VARCHAR\"]]')", may_be_empty=true) }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    key as symbol,
    {{ period_ms("params ->> '$.period'") }} as period_ms,
    case params ->> '$.unit' when '0' then 'base' when '1' then 'contracts' when '2' then 'usd' end as unit,
    {{ measured(fields, required=["t", "period_ms", "taker_buy", "taker_sell", "unit"]) }}
from {{ read("recorded", fields) }}
