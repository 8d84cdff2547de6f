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
    r.symbol as symbol,
    try_cast(r.lastprice as double) as last_price,
    try_cast(r.quotevolume as double) as vol24h_quote,
    {{ reject(['symbol', 'last_price']) }}
from recorded
