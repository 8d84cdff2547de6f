{%- set fields = {
    "symbol": word("r.symbol"),
    "open_interest": size("r.openinterest"),
} %}
with recorded as (
    {{ recorded('binance', 'open_interest', "[from_json(body,
        '{\"symbol\":\"VARCHAR\",\"openInterest\":\"VARCHAR\",\"time\":\"VARCHAR\"}')]") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    {{ measured(fields, required=["symbol", "open_interest"]) }}
from {{ read("recorded", fields) }}
where not contains(coalesce(r.symbol, ''), '_')
