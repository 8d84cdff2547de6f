with recorded as (
    {{ recorded('lighter', 'funding', "from_json(body -> '$.funding_rates',
        '[{\"exchange\":\"VARCHAR\",\"symbol\":\"VARCHAR\",\"rate\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.symbol as symbol,
    try_cast(r.rate as double) / 8 as funding_rate,
    1.0::double as interval_h,
    {{ reject(['symbol', 'funding_rate']) }}
from recorded
where r is null or r.exchange = 'lighter'
