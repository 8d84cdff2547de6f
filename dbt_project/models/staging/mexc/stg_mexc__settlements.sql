with recorded as (
    {{ recorded('mexc', 'settlements', "from_json(body -> '$.data.resultList',
        '[{\"symbol\":\"VARCHAR\",\"fundingRate\":\"VARCHAR\",\"settleTime\":\"VARCHAR\"}]')",
        may_be_empty=true) }}
)

select
    tick_ms,
    key,
    requested_ms,
    received_ms,
    endpoint,
    r.symbol as symbol,
    try_cast(r.settletime as bigint) as settled_ms,
    try_cast(r.fundingrate as double) as funding_rate,
    {{ reject(['symbol', 'settled_ms', 'funding_rate']) }}
from recorded
