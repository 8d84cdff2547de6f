{%- set fields = {
    "symbol": word("r.symbol"),
    "interval_h": hours("r.fundingintervalhours"),
} %}
with recorded as (
    {{ recorded('binance', 'funding_intervals', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"fundingIntervalHours\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    {{ measured(fields, required=["symbol", "interval_h"]) }}
from {{ read("recorded", fields) }}
