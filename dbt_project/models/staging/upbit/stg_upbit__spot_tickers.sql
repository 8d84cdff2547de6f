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
    r.market as symbol,
    try_cast(r.trade_price as double) as last_price,
    try_cast(r.acc_trade_price_24h as double) as vol24h_quote,
    {{ reject(['symbol', 'last_price', 'vol24h_quote']) }}
from recorded
where starts_with(coalesce(r.market, 'KRW-'), 'KRW-')
