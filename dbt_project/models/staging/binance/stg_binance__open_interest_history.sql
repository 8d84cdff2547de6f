{%- set fields = {
    "symbol": word("r.symbol"),
    "_label": time_ms("r.timestamp", past=true),
    "t": binance_bucket_end("_label", "period_ms"),
    "open_interest": size("r.sumopeninterest"),
    "open_interest_usd": amount("r.sumopeninterestvalue"),
} %}
with recorded as (
    {{ recorded('binance', 'open_interest_history', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"sumOpenInterest\":\"VARCHAR\",\"sumOpenInterestValue\":\"VARCHAR\",\"timestamp\":\"VARCHAR\"}]')",
        may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ period_ms("params ->> '$.period'") }} as period_ms,
    {{ measured(fields, required=["symbol", "_label", "period_ms", "open_interest"]) }}
from {{ read("recorded", fields) }}
