with recorded as (
    {{ recorded('aster', 'funding_intervals', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"fundingIntervalHours\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.symbol as symbol,
    nullif(try_cast(r.fundingintervalhours as double), 0) as interval_h,
    {{ reject(['symbol', 'interval_h']) }}
from recorded
where not starts_with(coalesce(r.symbol, ''), 'TEST')
