{%- set fields = {
    "t": time_ms("r.timestamp", past=true),
    "open_interest": size("case when not ends_with(key, 'USD') then r.openinterest end"),
    "single_open_interest": size("case when not ends_with(key, 'USD') then r.singleopeninterest end"),
    "open_contracts": size("case when ends_with(key, 'USD') then r.openinterest end"),
} %}
with recorded as (
    {{ recorded('bybit', 'open_interest_history', "from_json(body -> '$.result.list',
        '[{\"openInterest\":\"VARCHAR\",\"singleOpenInterest\":\"VARCHAR\",\"timestamp\":\"VARCHAR\"}]')",
        may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    key as symbol,
    {{ period_ms("params ->> '$.intervalTime'") }} as period_ms,
    {{ measured(fields, required=["t", "period_ms", "coalesce(open_interest, open_contracts)"]) }}
from {{ read("recorded", fields) }}
