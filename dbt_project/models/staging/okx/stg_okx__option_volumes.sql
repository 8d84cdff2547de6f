with recorded as (
    {{ recorded('okx', 'option_volumes', "from_json(body -> '$.data',
        '[{\"instId\":\"VARCHAR\",\"volCcy24h\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    r.instid as instrument,
    try_cast(r.volccy24h as double) as volume_coins,
    {{ reject(['instrument', 'volume_coins']) }}
from recorded
