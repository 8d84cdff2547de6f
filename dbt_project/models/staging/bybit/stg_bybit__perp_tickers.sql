with recorded as (
    {{ recorded('bybit', 'perp_tickers', "from_json(body -> '$.result.list',
        '[{\"symbol\":\"VARCHAR\",\"lastPrice\":\"VARCHAR\",\"markPrice\":\"VARCHAR\",\"indexPrice\":\"VARCHAR\",
           \"turnover24h\":\"VARCHAR\",\"fundingRate\":\"VARCHAR\",\"fundingIntervalHour\":\"VARCHAR\",
           \"openInterest\":\"VARCHAR\",\"singleOpenInterest\":\"VARCHAR\",\"deliveryTime\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    r.symbol as symbol,
    try_cast(r.lastprice as double) as last_price,
    try_cast(r.markprice as double) as mark_price,
    try_cast(r.indexprice as double) as index_price,
    try_cast(r.turnover24h as double) as vol24h_quote,
    try_cast(r.fundingrate as double) as funding_rate,
    nullif(try_cast(r.fundingintervalhour as double), 0) as interval_h,
    try_cast(r.openinterest as double) as open_interest,
    try_cast(r.singleopeninterest as double) as single_open_interest,
    {{ reject(['symbol', 'last_price', 'mark_price', 'vol24h_quote']) }}
from recorded
where not contains(coalesce(r.symbol, ''), '-') and coalesce(nullif(r.deliverytime, ''), '0') = '0'
