{%- set fields = {
    "symbol": word("r.symbol"),
    "settled_ms": time_ms("r.fundingtime", past=true),
    "funding_rate": rate("r.fundingrate"),
} %}
with recorded as (
    {{ recorded('binance', 'settlements', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"fundingTime\":\"VARCHAR\",\"fundingRate\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ measured(fields, required=["symbol", "settled_ms", "funding_rate"]) }}
from {{ read("recorded", fields) }}
where not {{ binance_is_dated("r.symbol") }}
