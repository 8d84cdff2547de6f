with recorded as (
    {{ recorded('okx', 'funding', "from_json(body -> '$.data',
        '[{\"instId\":\"VARCHAR\",\"instType\":\"VARCHAR\",\"fundingRate\":\"VARCHAR\",\"fundingTime\":\"VARCHAR\",
           \"nextFundingTime\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    r.instid as symbol,
    try_cast(r.fundingrate as double) as funding_rate,
    try_cast(r.fundingtime as bigint) as next_funding_ms,
    nullif(greatest(try_cast(r.nextfundingtime as bigint) - next_funding_ms, 0), 0) / 3600000 as interval_h,
    {{ reject(['symbol', 'funding_rate']) }}
from recorded
where r is null or (coalesce(r.insttype, 'SWAP') = 'SWAP' and r.fundingrate is distinct from '')
