{%- set fields = {
    "symbol": word("r.symbol"),
    "last_price": price("r.last_trade_price", zero="kept"),
    "mark_price": price("r.mark_price", zero="kept"),
    "index_price": price("r.index_price", zero="none"),
    "vol24h_quote": amount("r.daily_quote_token_volume"),
    "open_interest": size("r.open_interest"),
} %}
with recorded as (
    {{ recorded('lighter', 'perp_tickers', "from_json(body -> '$.order_book_details',
        '[{\"symbol\":\"VARCHAR\",\"status\":\"VARCHAR\",\"last_trade_price\":\"VARCHAR\",\"mark_price\":\"VARCHAR\",
           \"index_price\":\"VARCHAR\",\"daily_quote_token_volume\":\"VARCHAR\",\"open_interest\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    {{ measured(fields, required=["symbol", "last_price", "vol24h_quote", "open_interest"]) }}
from {{ read("recorded", fields) }}
where coalesce(r.status, 'active') = 'active'
