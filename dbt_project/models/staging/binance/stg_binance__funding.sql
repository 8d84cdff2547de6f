-- premiumIndex; one row per perp. lastFundingRate is the current estimate, a fraction per funding interval of the symbol.
-- Dated contracts and halted ones (nextFundingTime 0) pay no funding and have no live mark: left out.
with recorded as (
    {{ recorded('binance', 'funding', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"markPrice\":\"VARCHAR\",\"indexPrice\":\"VARCHAR\",\"lastFundingRate\":\"VARCHAR\",
           \"nextFundingTime\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    r.symbol as symbol,
    try_cast(r.markprice as double) as mark_price,
    try_cast(r.indexprice as double) as index_price,
    try_cast(r.lastfundingrate as double) as funding_rate,
    try_cast(r.nextfundingtime as bigint) as next_funding_ms,
    {{ reject(['symbol', 'mark_price', 'funding_rate', 'next_funding_ms']) }}
from recorded
where not contains(coalesce(r.symbol, ''), '_') and coalesce(r.nextfundingtime, '') <> '0'
