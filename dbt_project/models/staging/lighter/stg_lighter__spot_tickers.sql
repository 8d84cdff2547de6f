{%- set fields = {
    "symbol": word("r.symbol"),
    "last_price": price("r.last_trade_price", zero="kept"),
    "vol24h_quote": amount("r.daily_quote_token_volume"),
} %}
with recorded as (
    {{ recorded('lighter', 'perp_tickers', "from_json(body -> '$.spot_order_book_details',
        '[{\"symbol\":\"VARCHAR\",\"status\":\"VARCHAR\",\"last_trade_price\":\"VARCHAR\",
           \"daily_quote_token_volume\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ measured(fields, required=["symbol", "last_price", "vol24h_quote"]) }}
from {{ read("recorded", fields) }}
where coalesce(r.status, 'active') = 'active'
