{%- set fields = {
    "symbol": word("r.instid"),
    "settled_ms": time_ms("r.fundingtime", past=true),
    "funding_rate": rate("coalesce(nullif(r.realizedrate, ''), r.fundingrate)"),
} %}
with recorded as (
    {{ recorded('okx', 'settlements', "from_json(body -> '$.data',
        '[{\"instId\":\"VARCHAR\",\"fundingTime\":\"VARCHAR\",\"fundingRate\":\"VARCHAR\",\"realizedRate\":\"VARCHAR\"}]')",
        may_be_empty=true) }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    {{ measured(fields, required=["symbol", "settled_ms", "funding_rate"]) }}
from {{ read("recorded", fields) }}
