{%- set fields = {
    "symbol": word("r.symbol"),
    "last_price": price("r.lastprice", zero="kept"),
    "vol24h_quote": amount("r.quotevolume"),
    "_closed_ms": time_ms("r.closetime", past=true),
} %}
with recorded as (
    {{ recorded('binance', 'spot_tickers', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"lastPrice\":\"VARCHAR\",\"quoteVolume\":\"VARCHAR\",\"closeTime\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    {{ measured(fields, required=["symbol", "last_price", "vol24h_quote", "_closed_ms"]) }}
from {{ read("recorded", fields) }}
where {{ is_of_the_last_day("_closed_ms") }}
