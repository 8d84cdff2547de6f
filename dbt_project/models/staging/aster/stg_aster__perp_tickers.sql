{%- set fields = {
    "symbol": word("r.symbol"),
    "last_price": price("r.lastprice", zero="kept"),
    "vol24h_quote": amount("r.quotevolume"),
    "_closed_ms": time_ms("r.closetime", past=true),
} %}
with recorded as (
    {{ recorded('aster', 'perp_tickers', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"lastPrice\":\"VARCHAR\",\"quoteVolume\":\"VARCHAR\",\"closeTime\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ measured(fields, required=["symbol", "last_price", "vol24h_quote", "_closed_ms"]) }}
from {{ read("recorded", fields) }}
where not starts_with(coalesce(r.symbol, ''), 'TEST') and {{ is_of_the_last_day("_closed_ms") }}
