with recorded as (
    {{ recorded('okx', 'open_interest', "from_json(body -> '$.data',
        '[{\"instId\":\"VARCHAR\",\"instType\":\"VARCHAR\",\"oi\":\"VARCHAR\",\"oiCcy\":\"VARCHAR\"}]')") }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    r.instid as symbol,
    try_cast(r.oiccy as double) as open_interest,
    try_cast(r.oi as double) as open_contracts,
    {{ reject(['symbol', 'open_interest']) }}
from recorded
where coalesce(r.insttype, 'SWAP') = 'SWAP'
