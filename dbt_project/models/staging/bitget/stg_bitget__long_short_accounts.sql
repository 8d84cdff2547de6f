{%- set fields = {
    "t": time_ms("r.ts", past=true),
    "long_fraction": fraction("r.longaccountratio"),
} %}
with recorded as (
    {{ recorded('bitget', 'long_short_accounts', "case when body ->> '$.code' = '40054' then [] else from_json(body -> '$.data',
        '[{\"longAccountRatio\":\"VARCHAR\",\"ts\":\"VARCHAR\"}]') end",
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
    {{ measured(fields, required=["t", "period_ms", "long_fraction"]) }}
from {{ read("recorded", fields) }}
