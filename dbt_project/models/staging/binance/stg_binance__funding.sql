with recorded as (
    {{ recorded('binance', 'funding', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"markPrice\":\"VARCHAR\",\"indexPrice\":\"VARCHAR\",\"lastFundingRate\":\"VARCHAR\",
           \"nextFundingTime\":\"VARCHAR\"}]')") }}
),

intervals as (
    select * from {{ ref('stg_binance__funding_intervals') }} where reject is null
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    r.symbol as symbol,
    try_cast(r.markprice as double) as mark_price,
    try_cast(r.indexprice as double) as index_price,
    try_cast(r.lastfundingrate as double) as funding_rate,
    case
        when tick_ms in (select i.tick_ms from intervals as i) then
            coalesce((select any_value(i.interval_h) from intervals as i where i.tick_ms = recorded.tick_ms and i.symbol = r.symbol), 8)
    end as interval_h,
    try_cast(r.nextfundingtime as bigint) as next_funding_ms,
    {{ reject(['symbol', 'mark_price', 'funding_rate', 'next_funding_ms']) }}
from recorded
where not contains(coalesce(r.symbol, ''), '_') and coalesce(r.nextfundingtime, '') <> '0'
