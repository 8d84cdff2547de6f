{%- set fields = {
    "symbol": word("r.symbol"),
    "interval_h": hours("r.fundingintervalhours"),
} %}
with recorded as (
    {{ recorded('aster', 'funding_intervals', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"fundingIntervalHours\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ measured(fields, required=["symbol", "interval_h"]) }}
from {{ read("recorded", fields) }}
where not starts_with(coalesce(r.symbol, ''), 'TEST')
