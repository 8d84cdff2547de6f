{%- set fields = {
    "symbol": word("r.symbol"),
    "open_interest": size("r.openinterest"),
} %}
with recorded as (
    {{ recorded('aster', 'open_interest', "[from_json(body,
        '{\"symbol\":\"VARCHAR\",\"openInterest\":\"VARCHAR\"}')]") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ measured(fields, required=["symbol", "open_interest"]) }}
from {{ read("recorded", fields) }}
