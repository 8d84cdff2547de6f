{%- set fields = {
    "symbol": word("r.symbol"),
    "t": time_ms("r.timestamp", past=true),
    "long_fraction": fraction("r.buyratio"),
} %}
with recorded as (
    {{ recorded('bybit', 'long_short_accounts', "from_json(body -> '$.result.list',
        '[{\"symbol\":\"VARCHAR\",\"buyRatio\":\"VARCHAR\",\"timestamp\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ period_ms("params ->> '$.period'") }} as period_ms,
    {{ measured(fields, required=["symbol", "t", "period_ms", "long_fraction"]) }}
from {{ read("recorded", fields) }}
