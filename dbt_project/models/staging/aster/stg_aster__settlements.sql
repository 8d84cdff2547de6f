{%- set fields = {
    "symbol": word("r.symbol"),
    "settled_ms": time_ms("r.fundingtime", past=true),
    "funding_rate": rate("r.fundingrate"),
} %}
with recorded as (
    {{ recorded('aster', 'settlements', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"fundingRate\":\"VARCHAR\",\"fundingTime\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ measured(fields, required=["symbol", "settled_ms", "funding_rate"]) }}
from {{ read("recorded", fields) }}
where not starts_with(coalesce(r.symbol, ''), 'TEST')
