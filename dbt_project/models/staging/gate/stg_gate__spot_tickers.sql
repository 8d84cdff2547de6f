with recorded as (
    {{ recorded('gate', 'spot_tickers', "from_json(body,
        '[{\"currency_pair\":\"VARCHAR\",\"last\":\"VARCHAR\",\"quote_volume\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.currency_pair as symbol,
    try_cast(r.last as double) as last_price,
    try_cast(r.quote_volume as double) as vol24h_quote,
    {{ reject(['symbol', 'last_price', 'vol24h_quote']) }}
from recorded
where r is null or coalesce(try_cast(r.last as double) <> 0, true)
