{%- set fields = {
    "symbol": word("r.symbol"),
    "funding_rate": rate("r.fundingrate"),
    "interval_h": hours("r.fundingrateinterval"),
    "next_funding_ms": time_ms("r.nextupdate"),
} %}
with recorded as (
    {{ recorded('bitget', 'funding', "from_json(body -> '$.data',
        '[{\"symbol\":\"VARCHAR\",\"fundingRate\":\"VARCHAR\",\"fundingRateInterval\":\"VARCHAR\",
           \"nextUpdate\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ measured(fields, required=["symbol", "funding_rate"]) }}
from {{ read("recorded", fields) }}
