with recorded as (
    {{ recorded('okx', 'option_open_interest', "from_json(body -> '$.data',
        '[{\"instId\":\"VARCHAR\",\"oi\":\"VARCHAR\",\"oiCcy\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    r.instid as instrument,
    try_cast(r.oiccy as double) as open_interest_coins,
    try_cast(r.oi as double) as open_contracts,
    {{ reject(['instrument', 'open_interest_coins']) }}
from recorded
