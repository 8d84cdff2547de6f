{%- set fields = {
    "symbol": word("r.currency_pair"),
    "last_price": price("r.last", zero="kept"),
    "vol24h_quote": amount("r.quote_volume"),
} %}
with recorded as (
    {{ recorded('gate', 'spot_tickers', "from_json(body,
        '[{\"currency_pair\":\"VARCHAR\",\"last\":\"VARCHAR\",\"quote_volume\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ measured(fields, required=["symbol", "last_price", "vol24h_quote"]) }}
from {{ read("recorded", fields) }}
where r is null or last_price is distinct from 0
