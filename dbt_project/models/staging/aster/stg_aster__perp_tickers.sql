with recorded as (
    {{ recorded('aster', 'perp_tickers', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"lastPrice\":\"VARCHAR\",\"quoteVolume\":\"VARCHAR\",\"closeTime\":\"VARCHAR\"}]')") }}
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
    {{ reject(['symbol', 'last_price', 'vol24h_quote', 'try_cast(r.closetime as bigint)']) }}
from recorded
where not starts_with(coalesce(r.symbol, ''), 'TEST')
qualify
    reject is not null
    or try_cast(r.closetime as bigint)
        >= max(try_cast(r.closetime as bigint)) over (partition by tick_ms, requested_ms) - 86400000
