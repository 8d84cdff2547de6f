{%- set fields = {
    "t": time_ms("r.time", "s", past=true),
    "open_contracts": size("r.open_interest"),
    "open_interest_usd": amount("r.open_interest_usd"),
} %}
with recorded as (
    {{ recorded('gate', 'contract_stats', "from_json(body,
        '[{\"time\":\"VARCHAR\",\"open_interest\":\"VARCHAR\",\"open_interest_usd\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    {{ period_ms("params ->> '$.interval'") }} as period_ms,
    {{ measured(fields, required=["t", "period_ms", "open_contracts"]) }}
from {{ read("recorded", fields) }}
where r is null or coalesce(t + period_ms <= tick_ms, true)
