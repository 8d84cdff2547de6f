-- funding-rates; one row per perp. The body also lists other exchanges' rates: only the venue's own are taken. Its rate
-- is a fraction scaled up to 8 hours, while funding settles every hour: an eighth of it is the rate of one interval.
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
