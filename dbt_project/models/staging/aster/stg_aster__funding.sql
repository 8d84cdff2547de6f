with recorded as (
    {{ recorded('aster', 'funding', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"markPrice\":\"VARCHAR\",\"indexPrice\":\"VARCHAR\",\"lastFundingRate\":\"VARCHAR\",
           \"nextFundingTime\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.symbol as symbol,
    try_cast(r.markprice as double) as mark_price,
    try_cast(r.indexprice as double) as index_price,
    try_cast(r.lastfundingrate as double) as funding_rate,
    try_cast(r.nextfundingtime as bigint) as next_funding_ms,
    {{ reject(['symbol', 'mark_price', 'funding_rate', 'next_funding_ms']) }}
from recorded
where not starts_with(coalesce(r.symbol, ''), 'TEST') and coalesce(r.nextfundingtime, '') <> '0'
