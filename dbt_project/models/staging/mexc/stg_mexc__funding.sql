{%- set fields = {
    "symbol": word("r.symbol"),
    "funding_rate": rate("r.fundingrate"),
    "interval_h": hours("r.collectcycle"),
    "next_funding_ms": time_ms("r.nextsettletime"),
} %}
with recorded as (
    {{ recorded('mexc', 'funding', "from_json(body -> '$.data',
        '[{\"symbol\":\"VARCHAR\",\"fundingRate\":\"VARCHAR\",\"collectCycle\":\"VARCHAR\",
           \"nextSettleTime\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ measured(fields, required=["symbol", "funding_rate"]) }}
from {{ read("recorded", fields) }}
