with recorded as (
    {{ recorded('kucoin', 'spot_tickers', "from_json(body -> '$.data.ticker',
        '[{\"symbol\":\"VARCHAR\",\"last\":\"VARCHAR\",\"volValue\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.symbol as symbol,
    try_cast(r.last as double) as last_price,
    try_cast(r.volvalue as double) as vol24h_quote,
    {{ reject(['symbol', 'last_price', 'vol24h_quote']) }}
from recorded
where r is null or r.last is not null
