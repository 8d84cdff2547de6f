with recorded as (
    {{ recorded('bitget', 'perp_tickers', "from_json(body -> '$.data',
        '[{\"symbol\":\"VARCHAR\",\"lastPrice\":\"VARCHAR\",\"markPrice\":\"VARCHAR\",
           \"indexPrice\":\"VARCHAR\",\"turnover24h\":\"VARCHAR\",\"openInterest\":\"VARCHAR\",
           \"fundingRate\":\"VARCHAR\",\"deliveryTime\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.symbol as symbol,
    try_cast(r.lastprice as double) as last_price,
    try_cast(r.markprice as double) as mark_price,
    try_cast(r.indexprice as double) as index_price,
    try_cast(r.turnover24h as double) as vol24h_quote,
    try_cast(r.openinterest as double) as open_interest,
    try_cast(r.fundingrate as double) as funding_rate,
    {{ reject(['symbol', 'last_price', 'vol24h_quote']) }}
from recorded
where coalesce(nullif(r.deliverytime, ''), '0') = '0'
