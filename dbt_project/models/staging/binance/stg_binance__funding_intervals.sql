with recorded as (
    {{ recorded('binance', 'funding_intervals', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"fundingIntervalHours\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    r.symbol as symbol,
    nullif(try_cast(r.fundingintervalhours as double), 0) as interval_h,
    {{ reject(['symbol', 'interval_h']) }}
from recorded
