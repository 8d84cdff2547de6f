with recorded as (
    {{ recorded('kucoin', 'perp_tickers', "from_json(body -> '$.data',
        '[{\"symbol\":\"VARCHAR\",\"type\":\"VARCHAR\",\"status\":\"VARCHAR\",\"isInverse\":\"VARCHAR\",
           \"lastTradePrice\":\"VARCHAR\",\"markPrice\":\"VARCHAR\",\"indexPrice\":\"VARCHAR\",\"volumeOf24h\":\"VARCHAR\",
           \"turnoverOf24h\":\"VARCHAR\",\"openInterest\":\"VARCHAR\",\"fundingFeeRate\":\"VARCHAR\",
           \"fundingRateGranularity\":\"VARCHAR\",\"currentFundingRateGranularity\":\"VARCHAR\",
           \"nextFundingRateDateTime\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.symbol as symbol,
    try_cast(r.lasttradeprice as double) as last_price,
    try_cast(r.markprice as double) as mark_price,
    nullif(try_cast(r.indexprice as double), 0) as index_price,
    case when r.isinverse = 'true' then try_cast(r.volumeof24h as double) else try_cast(r.turnoverof24h as double) end as vol24h_quote,
    try_cast(r.openinterest as double) as open_contracts,
    try_cast(r.fundingfeerate as double) as funding_rate,
    nullif(coalesce(try_cast(r.currentfundingrategranularity as double), try_cast(r.fundingrategranularity as double)), 0)
    / 3600000 as interval_h,
    try_cast(r.nextfundingratedatetime as bigint) as next_funding_ms,
    {{ reject(['symbol', 'last_price', 'mark_price', 'vol24h_quote', 'open_contracts']) }}
from recorded
where r is null or (coalesce(r.type, 'FFWCSX') = 'FFWCSX' and coalesce(r.status, 'Open') = 'Open')
