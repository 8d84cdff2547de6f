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
    r.symbol as symbol,
    try_cast(r.last_trade_price as double) as last_price,
    try_cast(r.daily_quote_token_volume as double) as vol24h_quote,
    {{ reject(['symbol', 'last_price', 'vol24h_quote']) }}
from recorded
where coalesce(r.status, 'active') = 'active'
