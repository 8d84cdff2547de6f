with recorded as (
    {{ recorded('okx', 'spot_tickers', "from_json(body -> '$.data',
        '[{\"instId\":\"VARCHAR\",\"instType\":\"VARCHAR\",\"last\":\"VARCHAR\",\"volCcy24h\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    r.instid as symbol,
    try_cast(r.last as double) as last_price,
    try_cast(r.volccy24h as double) as vol24h_quote,
    {{ reject(['symbol', 'last_price', 'vol24h_quote']) }}
from recorded
where r is null or (coalesce(r.insttype, 'SPOT') = 'SPOT' and r.last is distinct from '')
