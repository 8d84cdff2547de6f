{#- A funding rate is at most 4 % an hour, by the venue's documents. -#}
{%- set fields = {
    "settled_ms": time_ms("r.time", past=true),
    "symbol": word("r.coin"),
    "funding_rate": rate("r.fundingrate", most=0.04),
} %}
with recorded as (
    {{ recorded('hyperliquid', 'settlements', "from_json(body,
        '[{\"coin\":\"VARCHAR\",\"fundingRate\":\"VARCHAR\",\"time\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    {{ measured(fields, required=["symbol", "settled_ms", "funding_rate"]) }}
from {{ read("recorded", fields) }}
