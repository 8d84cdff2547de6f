{%- set fields = {
    "symbol": word("r.market"),
    "last_price": price("r.trade_price", zero="kept"),
    "vol24h_quote": amount("r.acc_trade_price_24h"),
} %}
with recorded as (
    {{ recorded('upbit', 'spot_tickers', "from_json(body,
        '[{\"market\":\"VARCHAR\",\"trade_price\":\"VARCHAR\",\"acc_trade_price_24h\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ measured(fields, required=["symbol", "last_price", "vol24h_quote"]) }}
from {{ read("recorded", fields) }}
where starts_with(coalesce(r.market, 'KRW-'), 'KRW-')
