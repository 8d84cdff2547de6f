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
    r.symbol as symbol,
    try_cast(r.last_trade_price as double) as last_price,
    try_cast(r.mark_price as double) as mark_price,
    try_cast(r.index_price as double) as index_price,
    try_cast(r.daily_quote_token_volume as double) as vol24h_quote,
    try_cast(r.open_interest as double) as open_interest,
    {{ reject(['symbol', 'last_price', 'vol24h_quote', 'open_interest']) }}
from recorded
where coalesce(r.status, 'active') = 'active'
