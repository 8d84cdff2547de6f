with recorded as (
    {{ recorded('okx', 'settlements', "from_json(body -> '$.data',
        '[{\"instId\":\"VARCHAR\",\"fundingTime\":\"VARCHAR\",\"fundingRate\":\"VARCHAR\",\"realizedRate\":\"VARCHAR\"}]')",
        may_be_empty=true) }}
)

select
    tick_ms,
    endpoint,
    key,
    requested_ms,
    received_ms,
    r.instid as symbol,
    try_cast(r.fundingtime as bigint) as settled_ms,
    coalesce(try_cast(r.realizedrate as double), try_cast(r.fundingrate as double)) as funding_rate,
    {{ reject(['symbol', 'settled_ms', 'funding_rate']) }}
from recorded
