{%- set fields = {
    "t": time_ms("r.time", "s", past=true),
    "long_usd": amount("r.long_liq_usd"),
    "short_usd": amount("r.short_liq_usd"),
} %}
with recorded as (
    {{ recorded('gate', 'contract_stats', "from_json(body,
        '[{\"time\":\"VARCHAR\",\"long_liq_usd\":\"VARCHAR\",\"short_liq_usd\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    {{ period_ms("params ->> '$.interval'") }} as period_ms,
    {{ measured(fields, required=["t", "period_ms"]) }}
from {{ read("recorded", fields) }}
where r is null or coalesce(t + period_ms <= tick_ms, true)
