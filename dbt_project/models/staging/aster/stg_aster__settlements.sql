with recorded as (
    {{ recorded('aster', 'settlements', "from_json(body,
        '[{\"symbol\":\"VARCHAR\",\"fundingRate\":\"VARCHAR\",\"fundingTime\":\"VARCHAR\"}]')", may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.symbol as symbol,
    try_cast(r.fundingtime as bigint) as settled_ms,
    try_cast(r.fundingrate as double) as funding_rate,
    {{ reject(['symbol', 'settled_ms', 'funding_rate']) }}
from recorded
where not starts_with(coalesce(r.symbol, ''), 'TEST')
