{%- set fields = {
    "symbol": word("r[2]"),
    "_label": time_of_text("r[1]", "%Y-%m-%d %H:%M:%S", past=true),
    "t": binance_metrics_instant("_label"),
    "open_interest": number("r[3]", "size", zero="none"),
    "open_interest_usd": number("r[4]", "amount", zero="none"),
} %}
with recorded as (
    {{ binance_metrics() }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ period_ms("'5m'") }} as period_ms,
    {{ measured(fields, required=["symbol", "_label"]) }}
from {{ read("recorded", fields) }}
