with recorded as (
    {{ recorded('bitget', 'funding', "from_json(body -> '$.data',
        '[{\"symbol\":\"VARCHAR\",\"fundingRate\":\"VARCHAR\",\"fundingRateInterval\":\"VARCHAR\",
           \"nextUpdate\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.symbol as symbol,
    try_cast(r.fundingrate as double) as funding_rate,
    nullif(try_cast(r.fundingrateinterval as double), 0) as interval_h,
    nullif(try_cast(r.nextupdate as bigint), 0) as next_funding_ms,
    {{ reject(['symbol', 'funding_rate']) }}
from recorded
