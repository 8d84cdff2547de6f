-- order_book_details of orderBookDetails; one row per perp that trades. Open interest in base, one side; turnover in USDC.
-- Mark and index price came later than the rest of the body: older ones are without.
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
