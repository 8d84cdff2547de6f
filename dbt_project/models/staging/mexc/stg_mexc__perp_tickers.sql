with recorded as (
    {{ recorded('mexc', 'perp_tickers', "from_json(body -> '$.data',
        '[{\"symbol\":\"VARCHAR\",\"lastPrice\":\"VARCHAR\",\"fairPrice\":\"VARCHAR\",
           \"indexPrice\":\"VARCHAR\",\"amount24\":\"VARCHAR\",\"holdVol\":\"VARCHAR\",
           \"fundingRate\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.symbol as symbol,
    try_cast(r.lastprice as double) as last_price,
    try_cast(r.fairprice as double) as mark_price,
    try_cast(r.indexprice as double) as index_price,
    try_cast(r.amount24 as double) * case when ends_with(r.symbol, '_USD') then mark_price else 1 end as vol24h_quote,
    try_cast(r.holdvol as double) as open_contracts,
    try_cast(r.fundingrate as double) as funding_rate,
    {{ reject(['symbol', 'last_price', 'mark_price', 'vol24h_quote', 'open_contracts']) }}
from recorded
