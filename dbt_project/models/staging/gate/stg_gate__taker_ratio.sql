{%- set fields = {
    "t": time_ms("r.time", "s", past=true),
    "taker_buy": size("r.long_taker_size"),
    "taker_sell": size("r.short_taker_size"),
} %}
with recorded as (
    {{ recorded('gate', 'contract_stats', "from_json(body,
        '[{\"time\":\"VARCHAR\",\"long_taker_size\":\"VARCHAR\",\"short_taker_size\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    {{ period_ms("params ->> '$.interval'") }} as period_ms,
    'contracts' as unit,
    {{ measured(fields, required=["t", "period_ms", "taker_buy", "taker_sell"]) }}
from {{ read("recorded", fields) }}
where r is null or coalesce(t + period_ms <= tick_ms, true)
