{%- set fields = {
    "symbol": word("r.symbol"),
    "last_price": price("r.lastprice", zero="kept"),
    "_coins": amount("r.basevolume"),
    "_mean_price": price("r.weightedavgprice", zero="kept"),
    "_quote": amount("r.quotevolume"),
    "vol24h_quote": within("coalesce(_quote, _coins * _mean_price)", "amount"),
    "_closed_ms": time_ms("r.closetime", past=true),
} %}
with recorded as (
    {{ recorded('binance', 'perp_tickers', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"lastPrice\":\"VARCHAR\",\"quoteVolume\":\"VARCHAR\",\"baseVolume\":\"VARCHAR\",
           \"weightedAvgPrice\":\"VARCHAR\",\"closeTime\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    {{ measured(fields, required=["symbol", "last_price", "vol24h_quote", "_closed_ms"]) }}
from {{ read("recorded", fields) }}
where not {{ binance_is_dated("r.symbol") }} and {{ is_of_the_last_day("_closed_ms") }}
