{%- set fields = {
    "symbol": word("r.symbol"),
    "last_price": price("r.lastprice", zero="kept"),
    "vol24h_quote": amount("r.quotevolume"),
} %}
with recorded as (
    {{ recorded('mexc', 'spot_tickers', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"lastPrice\":\"VARCHAR\",\"quoteVolume\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ measured(fields, required=["symbol", "last_price"]) }}
from {{ read("recorded", fields) }}
